"""What retraces the steps of a plain layer refuses a variant; what only reads attention and states takes it."""

import pytest
import torch

from bertlab import BertForMaskedLM, InputError, Tokenizer
from bertlab.explain.ablation import ablated
from bertlab.explain.attention.maps import attention_maps, neurons
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.follow import relative_updates
from bertlab.explain.words.lens import logit_lens

TEXT = "my dog is [MASK]."


@pytest.fixture
def tok():
    return Tokenizer.train(["my dog is hairy. he likes walks."] * 3, vocab_size=60)


@pytest.fixture
def variant(config, tok):
    fields = dict(pre_norm=True, position_embedding_type="rotary", vocab_size=tok.vocab_size)
    return BertForMaskedLM(config.changed(**fields)).eval()


@pytest.mark.parametrize(
    "retrace",
    [
        lambda model, tok: ablated(model, ["norm"]),
        lambda model, tok: neurons(model, tok, TEXT),
        lambda model, tok: relative_updates(model, [torch.zeros(1, 4, model.config.hidden_size)] * 4, 0),
    ],
    ids=["ablated", "neurons", "relative_updates"],
)
def test_retracing_a_variant_is_refused(retrace, variant, tok):
    with pytest.raises(InputError, match="a plain BERT; the model has position_embedding_type, pre_norm"):
        retrace(variant, tok)


def test_reading_a_variant_works(variant, tok):
    assert len(fill_mask(variant, tok, TEXT, k=3)[0].tokens) == 3
    assert attention_maps(variant, tok, TEXT).weights.shape[0] == variant.config.num_hidden_layers
    assert len(logit_lens(variant, tok, TEXT).layers) == variant.config.num_hidden_layers + 1
