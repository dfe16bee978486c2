"""The left-to-right reader: what comes next, the chain rule over whole texts, writing; against transformers."""

from dataclasses import replace

import pytest
import torch

from bertlab import InputError
from bertlab.relatives import left_to_right
from bertlab.training.initial_weights import new_model

TEXTS = ["the dog", "the dog did not cross the street because", "a"]


@pytest.fixture(scope="module")
def reader(recipe, tok):
    wide = replace(
        left_to_right.left_to_right_recipe(recipe_without_second(recipe)), num_hidden_layers=2, initializer_range=0.3
    )
    return new_model(wide, tok).eval()


def recipe_without_second(recipe):
    return replace(recipe, second_task="none")


def test_only_the_objective_differs(recipe):
    plain = recipe_without_second(recipe)
    turned = left_to_right.left_to_right_recipe(plain)
    assert replace(turned, objective="masked", name=plain.name) == plain
    assert turned.config(300).is_decoder and not plain.config(300).is_decoder
    assert left_to_right.left_to_right_recipe(recipe) == turned  # next-sentence prediction goes


@torch.inference_mode()
def test_what_comes_next_does_not_depend_on_the_batch(reader, tok):
    together = left_to_right.next_log_probabilities(reader, tok, TEXTS)
    alone = torch.cat([left_to_right.next_log_probabilities(reader, tok, [text]) for text in TEXTS])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
    ids = [tok.cls_token_id, *tok.encode_batch(TEXTS[1:2])[0]]  # the text goes on, so it has no [SEP]
    direct = reader(torch.tensor([ids])).prediction_logits[0, -1].log_softmax(-1)
    torch.testing.assert_close(together[1], direct, atol=1e-5, rtol=1e-4)


def test_transformers_gives_the_same_sum(reader, tok, tmp_path):
    transformers = pytest.importorskip("transformers")
    reader.save_pretrained(tmp_path, tok)
    theirs = transformers.BertLMHeadModel.from_pretrained(tmp_path).eval()
    assert theirs.config.is_decoder
    together = left_to_right.text_log_probabilities(reader, tok, TEXTS)
    for text, found in zip(TEXTS, together, strict=True):
        ids = tok([text])["input_ids"][:, :-1]
        with torch.inference_mode():
            logs = theirs(ids).logits.log_softmax(-1)[:, :-1].gather(2, ids[:, 1:, None])
        assert float(found) == pytest.approx(float(logs.sum()), abs=1e-3)


@torch.inference_mode()
def test_a_word_that_is_unknown_is_not_certain(reader, tok):
    (short, long), more = left_to_right.text_log_probabilities(reader, tok, ["the dog", "the dog \u2603"]), "the dog"
    assert tok(["\u2603"])["input_ids"].tolist() == [[tok.cls_token_id, tok.unk_token_id, tok.sep_token_id]]
    unknown = left_to_right.next_log_probabilities(reader, tok, [more])[0, tok.unk_token_id]
    assert float(long - short) == pytest.approx(float(unknown), abs=1e-4) and unknown < -0.1


def test_the_right_side_makes_no_difference_at_the_gap_and_does_when_all_is_read(reader, tok):
    ends = ["the dog saw the [MASK] was too wide.", "the dog saw the [MASK] was too tired and slept."]
    at_gap = left_to_right.gap_log_probabilities(reader, tok, ends)
    torch.testing.assert_close(at_gap[0], at_gap[1])
    torch.testing.assert_close(at_gap[:1], left_to_right.next_log_probabilities(reader, tok, ["the dog saw the"]))
    filled = [text.replace("[MASK]", word) for text in ends for word in ("dog", "street")]
    dog, street = left_to_right.text_log_probabilities(reader, tok, filled).view(2, 2).unbind(1)
    assert abs(float((dog - street)[0] - (dog - street)[1])) > 1e-3


def test_writing_follows_from_the_generator(reader, tok):
    def written(seed, tokens=6):
        return left_to_right.write(reader, tok, "the dog", tokens, torch.Generator().manual_seed(seed))

    assert written(1) == written(1)
    assert len({written(seed) for seed in range(5)}) > 1
    assert written(1).startswith("the dog") and not any(name in written(1) for name in ("[SEP]", "[MASK]", "[PAD]"))
    assert written(1, 0) == "the dog"
    assert len(tok.tokenize(written(1, 1000))) < reader.config.max_position_embeddings + 20  # it ends


def test_mistakes_are_named(reader, recipe, tok):
    both = new_model(recipe_without_second(recipe), tok).eval()
    for ask in (left_to_right.next_log_probabilities, left_to_right.text_log_probabilities):
        with pytest.raises(InputError, match="sees both sides"):
            ask(both, tok, ["the dog"])
    with pytest.raises(InputError, match="sees both sides"):
        left_to_right.write(both, tok, "the dog", 3, torch.Generator())
    for text in ("no gap", "[MASK] and [MASK]"):
        with pytest.raises(InputError, match=r"\[MASK\] in place of one word"):
            left_to_right.gap_log_probabilities(reader, tok, [text])
