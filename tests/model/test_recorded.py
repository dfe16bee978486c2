"""torch.export and torch.compile take the encoder and every head; checks of ordinary calls stay as they are."""

import pytest
import torch

from bertlab import BertForTokenClassification, BertModel, InputError
from bertlab.model import BertForSentenceEmbedding
from tests.model.building import MODELS, build

CASES = {kind.__name__: (kind, {}) for kind in [*MODELS, BertForSentenceEmbedding]}
CASES |= {decoder: (BertForTokenClassification, {"token_decoder": decoder}) for decoder in ("cnn", "crf")}
# Heads that are more than a Linear, or take other inputs; the others are parts of the first.
OWN = ("BertForPreTraining", "BertForMultipleChoice", "BertForSentenceEmbedding", "cnn", "crf")
EACH = [pytest.param(name, marks=() if name in OWN else pytest.mark.nightly) for name in CASES]
FREE = torch.export.Dim.DYNAMIC


def inputs_of(name, batch, rows=3, tokens=9):
    """The batch as this head takes it, cut to a size."""
    batch = {key: tensor[:rows, :tokens] for key, tensor in batch.items()}
    if name == "BertForMultipleChoice":
        return {key: tensor[None].repeat(2, 1, 1) for key, tensor in batch.items()}
    return batch | ({"word_mask": batch["attention_mask"].bool()} if name == "cnn" else {})


def same(one, other):
    for name, expected in vars(one).items():
        if expected is not None:
            torch.testing.assert_close(getattr(other, name), expected)


@pytest.mark.parametrize("name", EACH)
def test_an_exported_program_takes_any_batch_and_length(name, config, batch):
    kind, fields = CASES[name]
    model, inputs = build(kind, config.changed(num_hidden_layers=1, **fields)), inputs_of(name, batch)
    free = {key: dict.fromkeys(range(tensor.dim()), FREE) for key, tensor in inputs.items()}
    program = torch.export.export(model, (), inputs, dynamic_shapes=free).module()
    for size in ((3, 9), (2, 4), (1, 7)):
        cut = inputs_of(name, batch, *size)
        same(model(**cut), program(**cut))


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_the_whole_call_compiles_to_one_graph(name, config, batch):
    kind, fields = CASES[name]
    model, inputs = build(kind, config.changed(num_hidden_layers=1, **fields)), inputs_of(name, batch)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    with torch.no_grad():
        same(model(**inputs), compiled(**inputs))


def test_a_training_step_compiles_to_one_graph(config, batch):
    model = BertForTokenClassification(config.changed(num_hidden_layers=1, hidden_dropout_prob=0.1)).train()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    compiled(**batch, labels=torch.where(batch["attention_mask"] > 0, 1, -100)).loss.backward()
    assert model.bert.embeddings.word.weight.grad.abs().sum() > 0


def test_ordinary_calls_still_check_their_ids(config, batch):
    model = BertModel(config)
    with pytest.raises(InputError, match="outside 0..60"):
        model(batch["input_ids"] + 60)
