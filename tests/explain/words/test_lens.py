import pytest
import torch

from bertlab import BertForMaskedLM
from bertlab.errors import InputError
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.lens import Lens, logit_lens

TEXT, PAIR = "the animal didn't cross the [MASK].", "it was too [MASK]."


def shallow(model, layers: int):
    """The same model without its upper layers."""
    cut = type(model)(model.config.changed(num_hidden_layers=layers)).eval()
    cut.load_state_dict({name: weight for name, weight in model.state_dict().items() if name in cut.state_dict()})
    return cut


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_a_layer_is_read_as_if_it_were_the_last(model, tok, layer):
    lens = logit_lens(model, tok, TEXT, PAIR, k=120)
    (expected, _) = fill_mask(shallow(model, layer), tok, TEXT, PAIR, k=120)
    read = lens.layers[layer]
    assert read.tokens == expected.tokens and read.position == expected.position == lens.position
    assert read.probabilities == pytest.approx(expected.probabilities, abs=1e-6)
    assert read.entropy == pytest.approx(expected.entropy, abs=1e-4)
    assert lens.probabilities[layer] == pytest.approx(dict_of(read)[lens.answer], abs=1e-6)
    assert lens.ranks[layer] == read.tokens.index(lens.answer) + 1


def dict_of(fill):
    return dict(zip(fill.tokens, fill.probabilities, strict=True))


def test_layer_0_is_the_embeddings(model, tok):
    batch = tok([TEXT])
    state = model.bert.embeddings(batch["input_ids"], batch["token_type_ids"])
    position = int((batch["input_ids"][0] == tok.mask_token_id).nonzero())
    expected = model.mlm(state)[0, position].softmax(-1).sort(descending=True)
    first = logit_lens(model, tok, TEXT).layers[0]
    assert first.probabilities == pytest.approx(expected.values[:5].tolist(), abs=1e-6)
    assert first.tokens == tok.convert_ids_to_tokens(expected.indices[:5])


def test_the_chosen_gap_is_read(model, tok):
    fills = fill_mask(model, tok, TEXT, PAIR, k=3, masked=[2])
    for fill in fills:
        lens = logit_lens(model, tok, TEXT, PAIR, fill.position, 3, masked=[2])
        assert lens.answer == fill.tokens[0] and lens.layers[-1].tokens == fill.tokens
    assert [fill.position for fill in fills][0] == 2
    with pytest.raises(InputError, match="position=3 is not masked"):
        logit_lens(model, tok, TEXT, PAIR, 3)


def test_a_model_for_masked_words_alone(model, tok):
    twin = BertForMaskedLM(model.config).eval()
    assert len(logit_lens(twin, tok, TEXT).layers) == model.config.num_hidden_layers + 1


def test_where_the_answer_leads():
    fills = []
    lens = Lens(1, fills, "a", [0.1] * 5, [9, 1, 2, 1, 1])
    assert (lens.first_lead, lens.settled) == (1, 3)
    lens = Lens(1, fills, "a", [0.1] * 2, [1, 1])
    assert (lens.first_lead, lens.settled) == (0, 0)


def test_the_model_is_left_as_it_was(model, tok):
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    logit_lens(model, tok, TEXT)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())
