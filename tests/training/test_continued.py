"""Pretraining that goes on from a trained model: its weights, its shape, more positions, and a run from end to end."""

import json
from dataclasses import replace

import pytest
import torch

from bertlab import BertForPreTraining, InputError, Tokenizer
from bertlab.cli.main import main
from bertlab.training.initial_weights import continued, new_model, start_from_sinusoids
from tests.training.toy import pretrained

POSITIONS = "bert.embeddings.position.weight"


@pytest.fixture
def first(recipe, tok, tmp_path):
    """A folder with a model of three layers, to go on from."""
    folder = tmp_path / "first"
    new_model(replace(recipe, num_hidden_layers=3, seed=5), tok).save_pretrained(folder, tok)
    return folder


def test_it_begins_with_the_weights_and_the_shape_of_the_model(recipe, tok, first):
    ours = new_model(replace(recipe, model=str(first)).with_model_shape(), tok)
    theirs = BertForPreTraining.from_pretrained(first)
    assert ours.config == theirs.config and ours.config.num_hidden_layers == 3
    assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in ours.state_dict().items())


def test_more_positions_leave_short_texts_as_they_were(recipe, tok, first):
    had = recipe.max_position_embeddings
    longer = replace(
        recipe, model=str(first), max_tokens=2 * had + 3, max_position_embeddings=2 * had + 3
    ).with_model_shape()
    grown, old = new_model(longer, tok).eval(), BertForPreTraining.from_pretrained(first)
    weights, before = grown.state_dict(), old.state_dict()
    assert grown.config.max_position_embeddings == len(weights[POSITIONS]) == 2 * had + 3
    assert torch.equal(weights[POSITIONS][:had], before[POSITIONS])
    assert all(torch.equal(weights[name], before[name]) for name in weights if name != POSITIONS)
    ids = torch.arange(2 * had + 3)[None] % tok.vocab_size
    with torch.no_grad():
        assert grown(ids).prediction_logits.shape == (1, 2 * had + 3, tok.vocab_size)
        torch.testing.assert_close(grown(ids[:, :had]).prediction_logits, old(ids[:, :had]).prediction_logits)


def test_a_rotary_model_reads_longer_texts_too(recipe, tok, tmp_path):
    """It has no table of positions, only a limit."""
    rotary = replace(recipe, position_embedding_type="rotary")
    new_model(rotary, tok).save_pretrained(tmp_path, tok)
    had = recipe.max_position_embeddings
    longer = replace(rotary, model=str(tmp_path), max_tokens=2 * had, max_position_embeddings=2 * had)
    grown = new_model(longer.with_model_shape(), tok)
    ids = torch.arange(2 * had)[None] % tok.vocab_size
    assert grown(ids).prediction_logits.shape == (1, 2 * had, tok.vocab_size)


def test_new_positions_go_on_where_the_trained_ones_end():
    """Larger sines than the first guess, and a constant: the fit finds both."""
    sines = torch.empty(160, 64)
    start_from_sinusoids(sines)
    trained = 1.5 * sines + 0.2
    guess = continued(trained[:128], 160)
    assert guess.shape == (32, 64)
    assert (guess - trained[128:]).norm() < 0.3 * (sines - trained)[128:].norm()


def test_positions_learn_alone(recipe, tok, first, texts):
    had = recipe.max_position_embeddings
    alone = replace(recipe, model=str(first), learns="positions", max_tokens=had + 8, max_position_embeddings=had + 8)
    before = new_model(alone.with_model_shape(), tok).state_dict()
    after = pretrained(replace(alone, steps=3), texts, tok).model.state_dict()
    assert {name for name in after if not torch.equal(after[name], before[name])} == {POSITIONS}


def test_a_head_that_nothing_has_taught_is_not_saved(recipe, tok, texts, tmp_path):
    """Texts alone teach no next-sentence head; nor do positions alone. A training of everything does."""
    single, longer = tmp_path / "single", tmp_path / "longer"
    pretrained(replace(recipe, second_task="none", single_share=0.0, steps=2), texts, tok).model.save_pretrained(
        single, tok
    )
    had = recipe.max_position_embeddings
    continued = replace(recipe, model=str(single), max_tokens=had + 8, max_position_embeddings=had + 8, steps=2)
    positions = replace(continued, learns="positions", second_task="next")
    with pytest.raises(InputError, match="no trained head for pairs: --set second_task=none"):
        pretrained(positions, texts, tok)
    pretrained(replace(positions, second_task="none"), texts, tok).model.save_pretrained(longer, tok)
    with pytest.raises(InputError, match="has no trained"):
        BertForPreTraining.trained(longer)
    pretrained(replace(continued, model=str(longer)), texts, tok).model.save_pretrained(tmp_path / "taught", tok)
    assert BertForPreTraining.trained(tmp_path / "taught").untrained == ()


def test_short_texts_leave_the_positions_as_they_are(recipe, tok, first):
    fewer = replace(recipe, model=str(first), max_tokens=16, max_position_embeddings=16).with_model_shape()
    assert fewer.max_position_embeddings == recipe.max_position_embeddings


def test_texts_alone_give_the_second_token_type_the_vector_of_the_first(recipe, tok, texts):
    alone = replace(recipe, second_task="none", single_share=0.0, steps=3)
    trained = pretrained(alone, texts, tok).model.bert.embeddings.segment.weight
    torch.testing.assert_close(trained[1], trained[0])
    with_pairs = new_model(recipe, tok).bert.embeddings.segment.weight
    assert (with_pairs[1] - with_pairs[0]).norm() > 0.1


def test_a_model_that_knows_pairs_keeps_its_token_types(recipe, tok, first):
    alone = replace(recipe, model=str(first), second_task="none", single_share=0.0).with_model_shape()
    expected = BertForPreTraining.from_pretrained(first).bert.embeddings.segment.weight
    assert torch.equal(new_model(alone, tok).bert.embeddings.segment.weight, expected)


def test_what_does_not_fit_is_one_clear_line(recipe, tok, first, texts):
    with pytest.raises(InputError, match="give one, to go on from it or to learn from"):
        replace(recipe, model="x", teacher="x")
    with pytest.raises(InputError, match="needs a trained model"):
        replace(recipe, learns="positions")
    with pytest.raises(InputError, match="learns=positions: .* gets new ones by max_tokens above that"):
        replace(recipe, model=str(first), learns="positions", max_position_embeddings=999).with_model_shape()
    with pytest.raises(InputError, match='was trained with objective="masked"'):
        replace(recipe, model=str(first), objective="left-to-right", second_task="none").with_model_shape()
    other = Tokenizer.train([sentence for text in texts for sentence in text], 120)
    with pytest.raises(InputError, match="has another vocabulary than the text"):
        new_model(replace(recipe, model=str(first)).with_model_shape(), other)


def test_the_command_goes_on_and_says_so_in_the_card(first, texts, tmp_path):
    text, out = tmp_path / "text.txt", tmp_path / "run"
    text.write_text("\n\n".join("\n".join(sentences) for sentences in texts))
    options = ["--text", str(text), "--model", str(first), "--out", str(out), "--device", "cpu", "--steps", "2"]
    main(["pretrain", *options])
    assert Tokenizer.from_pretrained(out).vocab == Tokenizer.from_pretrained(first).vocab
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["model"], recipe["num_hidden_layers"]) == (str(first), 3)
    assert f"--model {first}" in (out / "README.md").read_text()
