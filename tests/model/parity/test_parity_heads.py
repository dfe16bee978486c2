"""Every head on checkpoints of random shape: loss, logits and the gradient of every parameter as transformers'."""

import random

import pytest
import torch

import bertlab
from bertlab.model.parameter_names import published_names
from tests.model.parity.closeness import assert_close

transformers = pytest.importorskip("transformers")

B, C, S = 3, 4, 9
ACTIVATIONS = ["gelu", "gelu_new", "relu"]


def random_shape(seed: int) -> dict:
    """Sizes of a small BERT; the activation and the number of segments take turns."""
    draw = random.Random(seed)
    heads = draw.randint(1, 5)
    return dict(
        vocab_size=draw.randint(20, 90),
        num_attention_heads=heads,
        hidden_size=heads * draw.randint(2, 9),
        num_hidden_layers=draw.randint(1, 4),
        intermediate_size=draw.randint(5, 70),
        max_position_embeddings=draw.randint(S, 40),
        layer_norm_eps=draw.choice([1e-12, 1e-5]),
        hidden_act=ACTIVATIONS[seed % 3],
        type_vocab_size=1 + seed % 2,
        num_labels=draw.randint(2, 5),
    )


def inputs(shape: dict, *rows: int) -> dict[str, torch.Tensor]:
    """Random ids (rows, S) with padding and, if the model knows two, segments."""
    ids = torch.randint(1, shape["vocab_size"], (*rows, S))
    real = torch.arange(S) < torch.randint(2, S + 1, (*rows, 1))
    segments = torch.randint(0, shape["type_vocab_size"], (*rows, S))
    return {"input_ids": ids * real, "attention_mask": real.long(), "token_type_ids": segments * real}


def some_ignored(labels: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.arange(labels.numel()).view(labels.shape) % 3 == 1, -100, labels)


# What each head is asked: name -> shape of the model -> (inputs, labels, more config)
def pretraining(shape):
    words = torch.randint(0, shape["vocab_size"], (B, S))
    return inputs(shape, B), dict(labels=some_ignored(words), next_sentence_label=torch.tensor([0, 1, 0])), {}


def masked_lm(shape):
    return inputs(shape, B), dict(labels=some_ignored(torch.randint(0, shape["vocab_size"], (B, S)))), {}


def next_sentence(shape):
    return inputs(shape, B), dict(labels=torch.tensor([0, 1, 1])), {}


def sequence(shape):
    return inputs(shape, B), dict(labels=torch.randint(0, shape["num_labels"], (B,))), {}


def regression(shape):
    return inputs(shape, B), dict(labels=torch.randn(B).double()), {"num_labels": 1}


def several_numbers(shape):
    labels = torch.randn(B, shape["num_labels"]).double()
    return inputs(shape, B), dict(labels=labels), {"problem_type": "regression"}


def several_labels(shape):
    return inputs(shape, B), dict(labels=torch.randint(0, 2, (B, shape["num_labels"])).double()), {}


def token(shape):
    return inputs(shape, B), dict(labels=some_ignored(torch.randint(0, shape["num_labels"], (B, S)))), {}


def span(shape):
    ends = dict(start_positions=torch.tensor([0, 2, 40]), end_positions=torch.tensor([0, 5, 8]))
    return inputs(shape, B), ends, {"num_labels": 2}


def choice(shape):
    return inputs(shape, B, C), dict(labels=torch.randint(0, C, (B,))), {}


HEADS = {
    pretraining: "BertForPreTraining",
    masked_lm: "BertForMaskedLM",
    next_sentence: "BertForNextSentencePrediction",
    sequence: "BertForSequenceClassification",
    regression: "BertForSequenceClassification",
    several_numbers: "BertForSequenceClassification",
    several_labels: "BertForSequenceClassification",
    token: "BertForTokenClassification",
    span: "BertForQuestionAnswering",
    choice: "BertForMultipleChoice",
}


def gradients_by_published_name(model) -> dict[str, torch.Tensor]:
    found = {}
    for name, parameter in model.named_parameters():
        names = published_names(name)
        found.update(zip(names, parameter.grad.chunk(len(names)), strict=True))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("task", HEADS, ids=lambda task: task.__name__)
def test_loss_logits_and_gradients(task, seed, tmp_path):
    torch.manual_seed(seed)
    shape = random_shape(seed)
    batch, labels, more = task(shape)
    if seed >= 4:  # padding at the left: position 0, where [CLS] heads read, is then no token
        batch = {name: tensor.flip(-1) for name, tensor in batch.items()}
    if seed % 2 and labels.get("labels", torch.empty(0)).shape == (B, S):  # else some padding has labels too
        labels["labels"] = labels["labels"].masked_fill(batch["attention_mask"] == 0, -100)
    config = transformers.BertConfig(**shape | more, attn_implementation="eager")
    theirs = getattr(transformers, HEADS[task])(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    theirs.save_pretrained(tmp_path)
    ours, theirs = getattr(bertlab, HEADS[task]).from_pretrained(tmp_path).double(), theirs.double()

    whole = {"output_logits": True} if task in (pretraining, masked_lm) else {"packed": False}
    out, reference = (
        ours(**batch, **labels, **whole),
        theirs(**batch, **{n: value.clone() for n, value in labels.items()}),
    )
    logits = {name for name in vars(out) if name.endswith("logits")}
    assert logits == {name for name in reference if name.endswith("logits")}
    assert_close({name: (getattr(out, name), reference[name]) for name in ("loss", *logits)})

    loss = ours(**batch, **labels).loss  # as a training calls it: without logits, and where it may without padding
    assert_close({"loss": (loss, reference.loss)})
    loss.backward()
    reference.loss.backward()
    found = gradients_by_published_name(ours)
    wanted = {name.removeprefix("bert."): p.grad for name, p in theirs.named_parameters() if p.grad is not None}
    assert found.keys() == wanted.keys()
    assert_close({name: (found[name], gradient) for name, gradient in wanted.items()})
    assert any(gradient.abs().max() > 1e-4 for gradient in wanted.values())
