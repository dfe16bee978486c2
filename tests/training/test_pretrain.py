"""Pretraining as a whole: batches, losses, the same model from the same seed, the run folder."""

import csv
import errno
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

from bertlab import BertForPreTraining, InputError, Tokenizer
from bertlab.inputs.masking import Masking
from bertlab.inputs.pairs import IS_NEXT, NOT_NEXT, Pair
from bertlab.model import weights as weight_files
from bertlab.training.batches import batches, masked_batch
from bertlab.training.engine.devices import Devices
from bertlab.training.initial_weights import new_model, start_from_sinusoids
from bertlab.training.objective import pretraining_loss
from bertlab.training.pretrain import learn_vocabulary
from bertlab.training.recipes import PRETRAIN, pretrain_recipe
from tests.training.toy import fit, pretrained, same, weights

COLUMNS = ["step", "mlm_loss", "masked_accuracy", "nsp_loss", "nsp_accuracy", "learning_rate", "seconds"]
SPEED = ["tokens_per_second", "utilisation", "wait_share"]


def train(recipe, texts, tok, **options):
    return pretrained(recipe, texts, tok, **options)


# Batches


def test_a_batch_has_inputs_and_labels_of_both_tasks(documents, tok, recipe):
    batch = next(batches(documents, tok, recipe))
    names = {"input_ids", "token_type_ids", "attention_mask", "labels", "next_sentence_label"}
    assert set(batch) == names and batch["input_ids"].shape[0] == recipe.batch_size
    assert batch["input_ids"].shape[1] <= recipe.max_tokens
    assert bool((batch["labels"][batch["attention_mask"] == 0] == -100).all())


def test_batches_have_no_end_and_every_epoch_differs(documents, tok, recipe):
    recipe = replace(recipe, single_share=0.0, batch_size=10_000)  # an epoch is one batch
    first, second = islice(batches(documents, tok, recipe), 2)
    assert first["input_ids"].shape[0] == second["input_ids"].shape[0]
    assert first["input_ids"].shape != second["input_ids"].shape or not torch.equal(
        first["input_ids"], second["input_ids"]
    )


def test_half_of_the_pairs_are_negatives_from_another_document(documents, tok, recipe):
    recipe = replace(recipe, single_share=0.0, batch_size=10_000, masking=Masking(rate=0.01, mask=0.0, random=0.0))
    batch = next(batches(documents, tok, recipe))  # nothing is hidden: the text can be read
    label = batch["next_sentence_label"]
    assert int((label == IS_NEXT).sum()) == pytest.approx(int((label == NOT_NEXT).sum()), abs=1)
    streams = [" ".join(str(token) for sentence in document for token in sentence) for document in documents]
    for row, types, real, kind in zip(
        batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], label.tolist(), strict=True
    ):
        first = row[(types == 0) & (real == 1)].tolist()[1:-1]
        second = row[(types == 1) & (real == 1)].tolist()[:-1]
        follows = any(f" {' '.join(map(str, first + second))} " in f" {stream} " for stream in streams)
        assert follows == (kind == IS_NEXT)


def test_texts_alone_have_no_next_sentence(tok):
    batch = masked_batch([Pair([10, 11, 12], [], -100)], tok, torch.Generator().manual_seed(0), Masking())
    assert batch["next_sentence_label"].tolist() == [-100] and batch["token_type_ids"].sum() == 0
    assert int((batch["input_ids"] == tok.sep_token_id).sum()) == 1


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_share_of_texts_alone(share, documents, tok, recipe):
    batch = next(batches(documents, tok, replace(recipe, single_share=share, batch_size=10_000)))
    assert float((batch["next_sentence_label"] == -100).float().mean()) == pytest.approx(share, abs=0.15)


# Losses


def test_mlm_loss_is_the_mean_over_masked_positions_alone(documents, tok, recipe):
    model = new_model(recipe, tok)
    batch = next(batches(documents, tok, replace(recipe, batch_size=6)))
    loss, watched = pretraining_loss(model, batch)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    out = model(**inputs)
    terms, right = [], []
    for row in range(6):
        for position in range(batch["labels"].shape[1]):
            wanted = int(batch["labels"][row, position])
            if wanted != -100:
                logs = out.prediction_logits[row, position].double().log_softmax(-1)
                terms.append(-logs[wanted].item())
                right.append(int(logs.argmax()) == wanted)
    assert float(watched["mlm_loss"]) == pytest.approx(sum(terms) / len(terms), rel=1e-4)
    assert float(watched["masked_accuracy"]) == pytest.approx(sum(right) / len(right))
    nsp = [
        -logits.log_softmax(-1)[label].item()
        for logits, label in zip(out.seq_relationship_logits, batch["next_sentence_label"], strict=True)
        if label != -100
    ]
    assert float(watched["nsp_loss"]) == pytest.approx(sum(nsp) / len(nsp), rel=1e-4)
    assert float(loss) == pytest.approx(float(watched["mlm_loss"] + watched["nsp_loss"]), rel=1e-5)


def test_texts_alone_give_no_next_sentence_loss(documents, tok, recipe):
    model = new_model(recipe, tok)
    batch = next(batches(documents, tok, replace(recipe, single_share=1.0)))
    loss, watched = pretraining_loss(model, batch)
    loss.backward()
    assert float(watched["nsp_loss"]) == 0.0 and float(loss) == float(watched["mlm_loss"]) > 0
    assert float(model.nsp.weight.grad.abs().sum()) == 0.0


# The model it starts from


def test_position_embeddings_start_as_sinusoids_or_not(tok, recipe):
    sines = new_model(recipe, tok).bert.embeddings.position.weight.detach()
    assert float(sines.square().mean().sqrt()) == pytest.approx(0.1, rel=1e-3)
    near, far = (sines[:-1] * sines[1:]).sum(-1).mean(), (sines[:-20] * sines[20:]).sum(-1).mean()
    assert near > far  # neighbours begin alike
    random = new_model(replace(recipe, position_init="random"), tok).bert.embeddings.position.weight
    assert float(random.detach().std()) == pytest.approx(recipe.initializer_range, rel=0.1)
    narrow = torch.empty(4, 6)
    start_from_sinusoids(narrow, size=0.5)
    torch.testing.assert_close(narrow[0], torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0, 0.5]) * 2**0.5)


def test_lower_layers_start_by_looking_for_likeness_or_not(tok, recipe):
    def likeness(**changes):
        """Correlation of each layer's query weights with its key weights."""
        model = new_model(replace(recipe, num_hidden_layers=4, **changes), tok)
        pairs = [layer.attention.qkv.weight.detach().chunk(3)[:2] for layer in model.bert.encoder.layers]
        return [float(torch.corrcoef(torch.stack([q.flatten(), k.flatten()]))[0, 1]) for q, k in pairs]

    lower, upper = likeness()[:2], likeness()[2:]
    assert min(lower) > 0.95 and max(map(abs, upper)) < 0.2
    assert max(map(abs, likeness(attention_init="random"))) < 0.2


def test_the_model_has_the_vocabulary_that_was_learned(texts, recipe):
    tok = learn_vocabulary(texts, replace(recipe, vocab_size=123))
    assert new_model(recipe, tok).config.vocab_size == tok.vocab_size <= 123


def test_new_model_depends_on_the_seed_alone(tok, recipe):
    torch.manual_seed(1)
    one = weights(new_model(recipe, tok))
    expected = torch.rand(2)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(2), expected)  # drawing a model leaves the generator as it was
    assert same(one, weights(new_model(recipe, tok)))
    assert not same(one, weights(new_model(replace(recipe, seed=1), tok)))


# Whole runs


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_same_seed_same_weights_to_the_bit(optimizer, dropout, texts, tok, recipe):
    recipe = replace(recipe, hidden_dropout_prob=dropout, optim=replace(recipe.optim, optimizer=optimizer))
    torch.manual_seed(1)
    one = weights(train(recipe, texts, tok).model)
    torch.manual_seed(2)
    assert same(one, weights(train(recipe, texts, tok).model))
    assert not same(one, weights(train(replace(recipe, seed=1), texts, tok).model))


def test_storyworld_is_the_default_text_and_the_vocabulary_is_learned(recipe):
    result = pretrained(replace(recipe, steps=2), None, None)
    assert result.tokenizer.vocab_size <= 300 and result.seconds > 0
    assert not result.model.training and result.model.config.vocab_size == result.tokenizer.vocab_size


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_it_learns_one_batch_by_heart(optimizer, documents, tok, recipe):
    recipe = replace(recipe, hidden_size=32)
    batch = next(batches(documents, tok, recipe))
    settings = replace(recipe.optim, optimizer=optimizer, learning_rate=1e-2)
    options = {"steps": 120, "optim": settings, "log_every": 10, "progress": False, "devices": Devices("cpu").settle()}
    rows = fit(new_model(recipe, tok), [batch] * 120, pretraining_loss, **options)
    assert rows[0]["mlm_loss"] > 2 and rows[-1]["mlm_loss"] < 0.05 and rows[-1]["nsp_loss"] < 0.05
    assert rows[-1]["masked_accuracy"] == 1.0


def test_run_folder(texts, tok, recipe, tmp_path):
    recipe = replace(recipe, snapshot_steps=(0, 2))
    seen = []
    result = train(recipe, texts, tok, out=tmp_path / "run", log_every=2, on_log=seen.append)
    folder = tmp_path / "run"
    expected = {"step-00000", "step-00002", "recipe.json", "metrics.csv", "config.json", "model.safetensors"}
    assert expected <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "recipe.json").read_text())["hidden_size"] == recipe.hidden_size
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*COLUMNS, *SPEED] and [row["step"] for row in rows] == ["2", "4", "5"]
    for row, other in zip(rows, result.rows, strict=True):
        assert {name: float(value) for name, value in row.items()} == pytest.approx(other, rel=1e-4)
    assert seen == result.rows
    assert same(weights(result.model), weights(BertForPreTraining.from_pretrained(folder)))
    assert Tokenizer.from_pretrained(folder).vocab == tok.vocab
    start = BertForPreTraining.from_pretrained(folder / "step-00000")
    for name, tensor in new_model(recipe, tok).state_dict().items():
        torch.testing.assert_close(start.state_dict()[name], tensor, rtol=1e-3, atol=1e-5)  # 16 bits


def test_ctrl_c_saves_what_was_learned(texts, tok, recipe, tmp_path):
    def stop(row):
        raise KeyboardInterrupt

    result = train(replace(recipe, steps=50), texts, tok, out=tmp_path / "run", log_every=3, on_log=stop)
    assert [row["step"] for row in result.rows] == [3]
    saved = weights(BertForPreTraining.from_pretrained(tmp_path / "run"))
    assert same(saved, weights(result.model)) and not same(saved, weights(new_model(recipe, tok)))


def test_minutes_end_a_run(texts, tok, recipe):
    result = train(replace(recipe, steps=1_000_000), texts, tok, minutes=0.01)
    assert 1 <= result.rows[-1]["step"] < 1_000_000 and result.seconds >= 0.6


def test_full_disk_keeps_the_last_snapshot(texts, tok, recipe, tmp_path, monkeypatch):
    save, calls = weight_files.save_file, []

    def sometimes(tensors, path, **options):
        calls.append(path)
        if len(calls) > 1:
            Path(path).write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(tensors, path, **options)

    monkeypatch.setattr(weight_files, "save_file", sometimes)
    with pytest.raises(InputError, match="No space left on device"):
        train(replace(recipe, snapshot_steps=(2,)), texts, tok, out=tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"recipe.json", "machine.json", "metrics.csv", "step-00002", "resume"}  # nothing half done
    BertForPreTraining.from_pretrained(tmp_path / "run" / "step-00002")
    monkeypatch.undo()  # there is room again: the trained weights are not lost
    result = train(replace(recipe, snapshot_steps=(2,)), texts, tok, out=tmp_path / "run", resume=True)
    assert same(weights(result.model), weights(BertForPreTraining.from_pretrained(tmp_path / "run")))


@pytest.mark.parametrize("text", [[], [["one sentence only"]], [["a b", "c d"]]])
def test_too_little_text(text, tok, recipe):
    with pytest.raises(InputError, match="at least two documents"):
        train(recipe, text, tok)


def test_recipes_by_name():
    for name, recipe in PRETRAIN.items():
        assert pretrain_recipe(name) is recipe and recipe.name == name
        assert recipe.max_tokens <= recipe.max_position_embeddings
        assert recipe.config(recipe.vocab_size).hidden_size == recipe.hidden_size
    with pytest.raises(InputError, match="storyworld-tiny"):
        pretrain_recipe("huge")
