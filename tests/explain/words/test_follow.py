import pytest
import torch

from bertlab.errors import InputError
from bertlab.explain.ablation import ablated
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.follow import follow_word, relative_updates

TEXT, PAIR = "the animal didn't cross the [MASK].", "it was too [MASK]."


def test_every_number_is_that_of_the_whole_model(model, tok):
    word = follow_word(model, tok, TEXT, PAIR, gap=1, k=3)
    maps, out = attention_maps(model, tok, TEXT, PAIR), model(**tok([TEXT], [PAIR]), output_hidden_states=True)
    at = word.position
    assert word.tokens == maps.tokens and at == len(maps.tokens) - 3
    torch.testing.assert_close(word.attention, maps.weights[:, :, at])
    torch.testing.assert_close(word.states, torch.stack([state[0, at] for state in out.hidden_states]))
    logits = out.prediction_logits[0, at]
    assert word.logits == pytest.approx(logits.sort(descending=True).values[:3].tolist(), abs=1e-5)
    assert word.lens.layers[-1].tokens == fill_mask(model, tok, TEXT, PAIR, k=3)[1].tokens
    assert word.vocab_size == len(logits)


def test_lengths_of_the_three_embeddings(model, tok):
    word = follow_word(model, tok, TEXT, PAIR)
    table, second = model.bert.embeddings, word.tokens.index("[SEP]") + 1
    for part, row in ((0, table.word.weight[tok.mask_token_id]), (1, table.position.weight[word.position])):
        assert float(word.norms[part, word.position]) == pytest.approx(float(row.detach().norm()), abs=1e-5)
    segments = table.segment.weight.detach().norm(dim=-1).tolist()
    assert word.norms[2].tolist() == pytest.approx([segments[i >= second] for i in range(len(word.tokens))], abs=1e-5)


@pytest.mark.parametrize(("part", "column"), [("attention", 0), ("feed-forward", 1)])
def test_a_part_that_is_silent_adds_nothing(model, tok, part, column):
    batch, silent = tok([TEXT]), ablated(model, [part])
    with torch.inference_mode():
        whole, without = (
            relative_updates(one, one.bert(**batch, output_hidden_states=True).hidden_states, 3)
            for one in (model, silent)
        )
    assert whole.shape == (3, 2) and (whole > 0).all()
    assert (without[:, column] == 0).all() and (without[:, 1 - column] > 0).all()


def test_a_word_can_be_masked_first(model, tok):
    word = follow_word(model, tok, "my dog is hairy.", masked=[2])
    assert word.position == 2 and word.tokens[2] == "[MASK]"
    with pytest.raises(InputError, match="holds no"):
        follow_word(model, tok, "my dog is hairy.")
