"""Pretraining that goes on from an encoder without heads: they start anew, and the run says so."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertlab import BertForMaskedLM, BertModel, InputError
from bertlab.cli.main import main
from bertlab.inputs.store_writing import write_store
from bertlab.training.batches import batches
from bertlab.training.initial_weights import new_model, trained_model, word_counts
from tests.training.toy import pretrained


@pytest.fixture(scope="module")
def encoder(recipe, tok, tmp_path_factory):
    """A folder with an encoder and its vocabulary alone: a BertModel without a pooler, of 64 positions."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(3)
    BertModel(recipe.config(tok.vocab_size), add_pooler=False).save_pretrained(folder, tok)
    return folder


@pytest.fixture
def continued(recipe, encoder):
    return replace(recipe, model=str(encoder), steps=2).with_model_shape()


def test_the_masked_word_head_begins_as_the_identity_with_the_word_frequencies(continued, tok, documents):
    model = new_model(continued, tok, documents).eval()
    head, counts = model.mlm, torch.zeros(tok.vocab_size)
    for token in (token for document in documents for sentence in document for token in sentence):
        counts[token] += 1
    torch.testing.assert_close(word_counts(documents, tok.vocab_size), counts)
    torch.testing.assert_close(head.dense.weight, torch.eye(continued.hidden_size))
    assert not head.dense.bias.any() and (head.norm.weight == 1).all() and not head.norm.bias.any()
    assert head.decoder.weight is model.bert.embeddings.word.weight
    torch.testing.assert_close(head.decoder.bias.exp(), (counts + 1) / (counts + 1).sum())
    assert model.untrained == ()


def test_its_first_loss_is_below_that_of_a_head_without_frequencies(continued, tok, documents):
    model = new_model(continued, tok, documents).eval()
    batch = next(batches(documents, tok, replace(continued, batch_size=40)))
    with torch.no_grad():
        began = float(model(**batch).mlm_loss)
        model.mlm.decoder.bias.zero_()
        assert began < float(model(**batch).mlm_loss) - 0.3


def test_of_a_store_the_words_are_counted_too(tok, texts, documents, tmp_path):
    store = write_store(tmp_path / "store", texts, tok, progress=False)
    torch.testing.assert_close(word_counts(store, tok.vocab_size), word_counts(documents, tok.vocab_size))


def test_what_is_there_stays_and_what_is_drawn_follows_from_the_seed(continued, encoder, tok, documents):
    theirs = BertModel.from_pretrained(encoder).state_dict()
    first, again, other = (new_model(replace(continued, seed=seed), tok, documents) for seed in (0, 0, 1))
    for name, tensor in first.bert.state_dict().items():
        if not name.startswith("pooler"):
            assert torch.equal(tensor, theirs[name]), name
    assert torch.equal(first.nsp.weight, again.nsp.weight) and not torch.equal(first.nsp.weight, other.nsp.weight)


def test_the_run_says_which_heads_are_new(continued, texts, tok, tmp_path, capsys):
    out = tmp_path / "run"
    pretrained(continued, texts, tok, out=out)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("bertlab: ")]
    assert len(said) == 1 and "no masked-word head: it starts as the identity" in said[0]
    assert "no next-sentence head: it starts from random weights" in said[0]
    BertForMaskedLM.trained(out)  # it has a head from now on
    pretrained(replace(continued, second_task="none", single_share=0.0), texts, tok)
    assert "next-sentence" not in capsys.readouterr().err
    pretrained(replace(continued, model=str(out)), texts, tok)
    assert "head" not in capsys.readouterr().err


def test_half_a_head_is_refused_and_so_is_none_where_positions_alone_learn(continued, tok, encoder, tmp_path):
    with pytest.raises(InputError, match="no trained masked-word head"):
        trained_model(replace(continued, learns="positions"), tok)
    new_model(continued, tok).save_pretrained(tmp_path, tok)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["cls.predictions.transform.dense.weight"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"transform\.dense\.weight is missing"):
        trained_model(replace(continued, model=str(tmp_path)), tok)


@pytest.mark.parametrize("positions", [64, 512])
def test_the_length_of_the_rows_is_said_and_never_that_of_the_model(positions, recipe, tok, texts, tmp_path, capsys):
    encoder, text, out = tmp_path / "encoder", tmp_path / "text.txt", tmp_path / "run"
    config = replace(recipe, max_position_embeddings=positions).config(tok.vocab_size)
    BertModel(config, add_pooler=False).save_pretrained(encoder, tok)
    text.write_text("\n\n".join("\n".join(sentences) for sentences in texts))
    main(
        ["pretrain", "--text", str(text), "--model", str(encoder), "--out", str(out), "--device", "cpu"]
        + ["--steps", "1", "--batch-size", "2"]
    )
    said = capsys.readouterr().err
    grows = f"{encoder} reads 64, so it gets 64 new positions"
    assert f"rows of 128 tokens{': ' + grows if positions == 64 else f'; {encoder} reads up to 512'}" in said
    assert json.loads((out / "recipe.json").read_text())["max_tokens"] == 128
