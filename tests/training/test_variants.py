"""What a recipe can ask for instead of the defaults: other tasks, phases, the paper's own model, and --set."""

import json
from dataclasses import replace
from itertools import islice

import pytest
import torch
from safetensors.torch import load_file

from bertlab import BertForPreTraining, InputError, Tokenizer
from bertlab.cli.evaluate import learned as read_learned
from bertlab.cli.main import main
from bertlab.cli.shared.settings import with_settings
from bertlab.corpora.storyworld.export import write_storyworld
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.evaluation.held_out import Learned, measure_pretraining
from bertlab.evaluation.measures import evaluate_left_to_right, evaluate_pretraining
from bertlab.explain.words.fill import fill_mask
from bertlab.inputs.masking import Masking
from bertlab.training.batches import batches
from bertlab.training.engine.optim import Optimization
from bertlab.training.initial_weights import new_model
from bertlab.training.objective import next_token_loss, pretraining_loss
from bertlab.training.recipes import PRETRAIN, PretrainRecipe
from tests.training.toy import pretrained

LEFT_TO_RIGHT = dict(objective="left-to-right", second_task="none")

# Tasks


def test_left_to_right_asks_for_every_next_word(documents, tok, recipe):
    batch = next(batches(documents, tok, replace(recipe, **LEFT_TO_RIGHT)))
    assert set(batch) == {"input_ids", "token_type_ids", "attention_mask", "labels"}
    for row, labels, real in zip(batch["input_ids"], batch["labels"], batch["attention_mask"].sum(1), strict=True):
        assert labels[: real - 2].tolist() == row[1 : real - 1].tolist() and row[real - 1] == tok.sep_token_id
        assert (labels[real - 2 :] == -100).all()  # the end is not asked for
        assert tok.mask_token_id not in row.tolist()


def test_left_to_right_learns_what_the_loss_says(documents, tok, recipe):
    recipe = replace(recipe, **LEFT_TO_RIGHT)
    model, batch = new_model(recipe, tok), next(batches(documents, tok, recipe))
    assert model.config.is_decoder
    loss, watched = next_token_loss(model, batch)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    logs = model(**inputs).prediction_logits.log_softmax(-1)  # (B, S, V)
    wanted = batch["labels"] != -100
    right = -logs[wanted].gather(1, batch["labels"][wanted][:, None]).mean()
    torch.testing.assert_close(loss, right)
    assert set(watched) == {"next_token_loss", "next_token_accuracy"}


LATER = ("position_embedding_type=rotary", "pre_norm=true", "gated_feed_forward=true", "shared_layers=true")


def test_a_later_encoder_is_set_in_a_recipe(recipe, texts, tok, tmp_path):
    result = pretrained(replace(with_settings(recipe, LATER), steps=2), texts, tok, out=tmp_path / "run")
    again = BertForPreTraining.from_pretrained(tmp_path / "run")
    assert again.config == result.model.config and len(again.config.variants) == len(LATER)
    models = [new_model(with_settings(recipe, settings), tok) for settings in ([], *([one] for one in LATER))]
    plain, *counts = (sum(p.numel() for p in model.parameters()) for model in models)
    assert max(counts) <= 1.02 * plain  # no variant costs parameters, but for a final LayerNorm


def test_left_to_right_is_measured_as_such(documents, tok, recipe):
    model = new_model(replace(recipe, **LEFT_TO_RIGHT), tok)
    baselines = NeighbourBaselines(documents, tok.vocab_size, tok.all_special_ids)
    found = evaluate_left_to_right(model, tok, documents, baselines, max_tokens=48)
    names = {f"{name}_{what}" for name in ("next_token", "unigram", "previous") for what in ("top1", "loss")}
    assert set(found) == names | {"perplexity", "next_tokens", "texts"}
    assert found["next_tokens"] == sum(len(sentence) for document in documents for sentence in document)
    assert found["perplexity"] == pytest.approx(tok.vocab_size, rel=0.2)  # it has learned nothing yet
    assert found["previous_loss"] < found["unigram_loss"] < found["next_token_loss"]
    with pytest.raises(InputError, match="left-to-right"):
        fill_mask(model, tok, "a [MASK]")


def test_no_second_task_no_second_loss(documents, tok, recipe):
    recipe = replace(recipe, second_task="none")
    model, batch = new_model(recipe, tok), next(batches(documents, tok, recipe))
    assert "next_sentence_label" not in batch and not batch["token_type_ids"].any()
    loss, watched = pretraining_loss(model, batch)
    assert set(watched) == {"mlm_loss", "masked_accuracy"} and torch.equal(loss, watched["mlm_loss"])
    loss.backward()
    assert model.nsp.weight.grad is None


def test_what_nothing_has_taught_is_not_saved(tok, recipe, tmp_path):
    for task in ("next", "none"):
        new_model(replace(recipe, second_task=task), tok).save_pretrained(tmp_path / task, tok)
    full, less = (set(load_file(tmp_path / task / "model.safetensors")) for task in ("next", "none"))
    ends = ("pooler.dense.weight", "pooler.dense.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias")
    assert less < full and all(name.endswith(ends) for name in full - less) and len(full - less) == 4
    with pytest.warns(UserWarning, match="newly initialised.*seq_relationship"):
        BertForPreTraining.from_pretrained(tmp_path / "none")


def test_a_model_is_measured_on_the_second_task_that_it_learned(documents, tok, recipe):
    model = new_model(recipe, tok)
    names = {
        task: {
            name
            for name in evaluate_pretraining(model, tok, documents, max_tokens=48, second_task=task)
            if name.split("_")[0] in ("nsp", "order") and not name.endswith(("_low", "_high"))
        }
        for task in ("next", "order", "none")
    }
    assert names["none"] == set() and names["order"] == {"order_accuracy", "order_accuracy_masked"}
    assert names["next"] == {"nsp_accuracy", "nsp_accuracy_masked"}


# Phases


def test_phases_begin_short_and_end_long(documents, tok, recipe):
    recipe = replace(recipe, steps=20, phases=((0.5, 16), (0.25, 24)), single_share=0.0, batch_size=10)
    made = list(islice(batches(documents, tok, recipe), 25))
    longest = [batch["input_ids"].shape[1] for batch in made]
    assert max(longest[:10]) <= 16 < max(longest[10:15]) <= 24 < max(longest[15:]) <= 48
    for start in (0, 3, 9, 10, 12, 15, 18):  # a run that goes on sees the same
        batch = next(batches(documents, tok, recipe, start))
        assert all(torch.equal(batch[name], made[start][name]) for name in batch)


@pytest.mark.parametrize("phases", [((1.0, 16),), ((0.0, 16),), ((0.6, 16), (0.4, 24)), ((float("nan"), 16),)])
def test_phases_that_leave_nothing(phases, recipe):
    with pytest.raises(InputError, match="phases="):
        replace(recipe, phases=phases)
    with pytest.raises(InputError, match="max_tokens=65"):
        replace(recipe, phases=((0.5, 65),))


def test_a_share_of_the_steps_has_short_texts(documents, tok, recipe):
    recipe = replace(recipe, short_share=0.7, max_tokens=48, single_share=0.0, batch_size=10)
    made = list(islice(batches(documents, tok, recipe), 200))
    short = [batch["input_ids"].shape[1] <= 24 for batch in made]
    assert 0.6 < sum(short) / len(short) < 0.8
    for start in (0, 1, 7, 150):  # a run that goes on sees the same
        batch = next(batches(documents, tok, recipe, start))
        assert all(torch.equal(batch[name], made[start][name]) for name in batch)


# Recipes


def test_bert_base_is_the_paper_s():
    """Devlin et al. 2019, section 3 and appendix A.2."""
    recipe = PRETRAIN["bert-base"]
    config = recipe.config(recipe.vocab_size)
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (12, 768, 12)
    assert (config.intermediate_size, config.vocab_size, config.max_position_embeddings) == (3072, 30_522, 512)
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob, config.hidden_act) == (0.1, 0.1, "gelu")
    assert (recipe.steps, recipe.batch_size, recipe.max_tokens) == (1_000_000, 256, 512)
    assert recipe.schedule() == [(900_000, 128), (None, 512)]
    assert recipe.optim == Optimization("adamw", 1e-4, warmup=10_000 / 1_000_000, weight_decay=0.01, beta2=0.999)
    assert recipe.masking == Masking.PAPER == Masking(0.15, 0.8, 0.1)
    assert recipe.second_task == "next" and recipe.single_share == 0
    assert recipe.position_init == recipe.attention_init == "random" and config.initializer_range == 0.02


# --set


def test_settings_are_read_as_their_fields_types():
    settings = "masking.rate=0.4 masking.whole_word=true second_task=order steps=12 optim.learning_rate=3e-4".split()
    recipe = with_settings(PretrainRecipe(), [*settings, "phases=0.9,128 0.05,200", "snapshot_steps=", "name=my run"])
    assert recipe.masking == Masking(0.4, whole_word=True) and recipe.optim == Optimization("muon", 3e-4)
    assert (recipe.second_task, recipe.steps, recipe.name) == ("order", 12, "my run")
    assert recipe.phases == ((0.9, 128), (0.05, 200)) and recipe.snapshot_steps == ()
    both = ["objective=left-to-right", "second_task=none"]
    assert with_settings(PretrainRecipe(), both) == with_settings(PretrainRecipe(), both[::-1])


MISTAKES = {
    "rate=0.4": "masking.rate",
    "masking.speed=1": "one of masking.rate",
    "masking=0.4": "FIELD=VALUE",
    "steps": "FIELD=VALUE",
    "=5": "FIELD=VALUE",
    "name.x=1": "FIELD=VALUE",
    "steps=many": "a whole number",
    "steps=1.5": "a whole number",
    "steps=0": "steps=0",
    "masking.rate=--help": "a number",
    "masking.rate=0": "masking rate=0",
    "masking.whole_word=2": "True or False",
    "second_task=swap": "one of next, order, none",
    "objective=left-to-right": "second_task",
    "phases=0.9": "numbers with commas",
    "hidden_size=30": "num_attention_heads",
    "masking.mask=nan": "masking mask=nan",
    "seed=99999999999999999999999": "seed=9999",
    "max_tokens=4": "max_tokens=4 is too short",
    "phases=0.3,4": "max_tokens=4 is too short",
    "max_tokens=9 short_share=0.5": "max_tokens=4 is too short",
    "short_share=1.5": "short_share=1.5",
    "optim.learning_rate=-1": "optim.learning_rate=-1",
    "optim.warmup=nan": "optim.warmup=nan",
    "single_share=2": "single_share=2",
    "documents=-1": "documents=-1",
}


@pytest.mark.parametrize("setting", MISTAKES)
def test_a_wrong_setting_is_one_line_and_exit_2(setting, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["pretrain", "--set", *setting.split()])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith("bertlab: ") and len(said.strip().splitlines()) == 1
    assert MISTAKES[setting] in said and not list(tmp_path.iterdir())


# Through the command line


TOY = (
    "num_hidden_layers=1 hidden_size=16 num_attention_heads=2 max_position_embeddings=64 max_tokens=48 "
    "vocab_size=300 batch_size=4 steps=4 snapshot_steps=2"
).split()
VARIANTS = {
    "whole words": ["masking.whole_word=true", "masking.rate=0.4"],
    "[MASK] alone": ["masking.mask=1", "masking.random=0"],
    "replaced alone": ["masking.mask=0", "masking.random=1"],
    "order": ["second_task=order"],
    "no second task": ["second_task=none"],
    "left to right": ["objective=left-to-right", "second_task=none"],
    "phases": ["phases=0.5,16"],
}


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    return write_storyworld("documents", tmp_path_factory.mktemp("story") / "story.txt", 80, 0, "train")


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_from_text_to_measures(name, story, tmp_path, capsys):
    run = tmp_path / "run"
    options = ["--text", str(story), "--out", str(run), "--device", "cpu"]
    main(["pretrain", *options, "--set", *TOY, "--set", *VARIANTS[name]])
    card, recipe = (run / "README.md").read_text(), json.loads((run / "recipe.json").read_text())
    assert f"bertlab pretrain own-text --text FILES --set {' '.join([*TOY, *VARIANTS[name]])}`" in card
    for path, _, value in (setting.partition("=") for setting in VARIANTS[name]):
        group, _, field = path.rpartition(".")
        assert str((recipe[group] if group else recipe)[field]).lower().startswith(value.lower()) or field == "phases"
    measures = json.loads((run / "measures.json").read_text())
    assert BertForPreTraining.from_pretrained(run).config.is_decoder == (name == "left to right")
    assert ("perplexity" in measures) == (name == "left to right") != ("masked_top1" in measures)
    assert ("order_accuracy" in measures) == (name == "order")
    assert ("nsp_accuracy" in measures) == (name not in ("order", "no second task", "left to right"))
    capsys.readouterr()
    # a snapshot too knows by itself what to measure
    main(["evaluate", str(run / "step-00002" if name == "order" else run), "--text", str(story), "--json"])
    assert set(json.loads(capsys.readouterr().out)) >= {key for key in measures if "gram" not in key}


def test_the_store_brings_its_vocabulary_to_bert_base(story, tmp_path, capsys):
    tok = Tokenizer.train(["a b c d e f g"] * 9, 60)
    tok.save_pretrained(tmp_path / "tok")
    main(["data", "tokenize", str(story), "--model", str(tmp_path / "tok"), "--out", str(tmp_path / "ids")])
    with pytest.raises(SystemExit) as ended:
        main(["pretrain", "bert-base"])
    assert ended.value.code == 2 and "--text or --store" in capsys.readouterr().err
    tiny = [setting for setting in TOY if not setting.startswith("vocab")] + ["phases=0.5,16"]
    options = ["--store", str(tmp_path / "ids"), "--out", str(tmp_path / "run"), "--device", "cpu"]
    main(["pretrain", "bert-base", *options, "--set", *tiny])
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert recipe["vocab_size"] == tok.vocab_size and recipe["optim"]["beta2"] == 0.999


def test_what_a_store_decides_is_not_to_be_set(story, tmp_path, capsys):
    main(["data", "tokenize", str(story), "--model", "storyworld-tiny", "--out", str(tmp_path / "ids")])
    for setting in ("vocab_size=300", "lowercase=false", "documents=9"):
        with pytest.raises(SystemExit) as ended:
            main(["pretrain", "--store", str(tmp_path / "ids"), "--set", setting, "--out", str(tmp_path / "run")])
        said = capsys.readouterr().err.splitlines()[-1]
        assert ended.value.code == 2 and f"--set {setting.partition('=')[0]}: has no effect beside --store" in said


def test_the_card_tells_every_option_that_matters(story, tmp_path):
    options = ["--text", str(story), "--out", str(tmp_path / "run"), "--device", "cpu", "--half", "--micro-batch", "3"]
    main(["pretrain", *options, "--set", *TOY])
    card = (tmp_path / "run" / "README.md").read_text()
    assert f"bertlab pretrain own-text --text FILES --half --micro-batch 3 --set {' '.join(TOY)}`" in card
    assert json.loads((tmp_path / "run" / "config.json").read_text())["dtype"] == "float16"


def test_a_model_of_short_texts_is_measured_on_short_texts(documents, texts, tok, recipe, tmp_path):
    model = new_model(recipe, tok)
    model.save_pretrained(tmp_path, tok)
    (tmp_path / "recipe.json").write_text(json.dumps({"max_tokens": 24}))
    learned = read_learned(str(tmp_path))
    assert learned == Learned(second_task="next", max_tokens=24)
    found = measure_pretraining(model, tok, texts, texts, learned)
    expected = evaluate_pretraining(model, tok, documents, max_tokens=24)
    assert found["masked_loss"] == pytest.approx(expected["masked_loss"])
    (tmp_path / "recipe.json").write_text('{"second_task": "swap"}')
    with pytest.raises(InputError, match="recipe.json: second_task is 'swap'"):
        read_learned(str(tmp_path))


def test_documents_unfit_for_measuring_are_named(tmp_path, capsys):
    story = "Ann has a dog. The dog is old. It sleeps a lot."
    parts = [f"CHAPTER {n}\n\n{'Alone.' if n % 20 == 0 else story}" for n in range(40)]
    (tmp_path / "story.txt").write_text("\n\n".join(parts))
    with pytest.raises(SystemExit) as ended:
        main(["pretrain", "--text", str(tmp_path / "story.txt"), "--out", str(tmp_path / "run"), "--set", *TOY])
    assert ended.value.code == 2 and "kept for measuring, every 20th" in capsys.readouterr().err


def test_the_masking_rate_falls_in_a_straight_line(documents, tok, recipe):
    recipe = replace(recipe, masking=Masking(rate=0.4, final_rate=0.1), steps=31)
    assert [round(recipe.masking_at(step).rate, 4) for step in (1, 11, 31)] == [0.4, 0.3, 0.1]
    assert replace(recipe, masking=Masking(rate=0.4)).masking_at(31) == Masking(rate=0.4)
    made = list(islice(batches(documents, tok, recipe), 31))
    shares = [(batch["labels"] != -100).sum() / batch["attention_mask"].sum() for batch in made]
    assert shares[0] > 0.33 and shares[-1] < 0.12
    (last,) = islice(batches(documents, tok, recipe, start=30), 1)
    assert torch.equal(last["labels"], made[-1]["labels"]), "a resumed run hides the same"
    with pytest.raises(InputError, match="final_rate=1.5"):
        Masking(final_rate=1.5)
