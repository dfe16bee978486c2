"""The checkers of the heads, the joint loss and the whole model pass right answers and name known wrong ones."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab import BertForPreTraining, BertModel
from bertlab.course import Mistake, check_joint_loss, check_mlm_head, check_pretraining_model
from bertlab.course.solutions import encoder
from bertlab.model.heads import MaskedLMHead


def made(base, forward=None, after=None):
    """A subclass of `base` with another forward, or something changed once it is built."""

    class Made(base):
        def __init__(self, *args):
            super().__init__(*args)
            if after:
                after(self)

    if forward:
        Made.forward = forward
    return Made


# The head


def untie(head):
    head.decoder.weight = nn.Parameter(head.decoder.weight.detach().clone())


HEAD_MISTAKES = {
    "matrix of its own": made(MaskedLMHead, after=untie),
    "not those of the library": made(MaskedLMHead, after=lambda head: delattr(head, "dense")),
    "layer before the decoder is missing": made(MaskedLMHead, lambda self, x: self.decoder(x)),
    "no activation": made(MaskedLMHead, lambda self, x: self.decoder(self.norm(self.dense(x)))),
    "not ReLU": made(MaskedLMHead, lambda self, x: self.decoder(self.norm(self.dense(x).relu()))),
    "tanh is the pooler's": made(MaskedLMHead, lambda self, x: self.decoder(self.norm(self.dense(x).tanh()))),
    "LayerNorm is missing": made(MaskedLMHead, lambda self, x: self.decoder(F.gelu(self.dense(x)))),
    "GELU comes before": made(MaskedLMHead, lambda self, x: self.decoder(F.gelu(self.norm(self.dense(x))))),
    "GELU comes after": made(MaskedLMHead, lambda self, x: self.decoder(self.norm(self.dense(F.gelu(x))))),
    "not the best word": made(MaskedLMHead, lambda self, x: self.decoder(self.transform(x)).argmax(-1)),
    "no residual": made(MaskedLMHead, lambda self, x: self.decoder(self.norm(x + F.gelu(self.dense(x))))),
    "bias is missing": made(MaskedLMHead, lambda self, x: self.transform(x) @ self.decoder.weight.T),
    "the softmax is the loss's": made(MaskedLMHead, lambda self, x: self.decoder(self.transform(x)).softmax(-1)),
    "still states": made(MaskedLMHead, lambda self, x: self.transform(x)),
    "return one tensor": made(MaskedLMHead, lambda self, x: (self.decoder(self.transform(x)), None)),
    "your code stopped": made(MaskedLMHead, lambda self, x: self.decoder(x.mean(-1))),
    "not the library's": made(MaskedLMHead, lambda self, x: 2 * self.decoder(self.transform(x))),
}


def test_head_right():
    check_mlm_head(MaskedLMHead)


@pytest.mark.parametrize("words", HEAD_MISTAKES)
def test_head_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_mlm_head(HEAD_MISTAKES[words])


# The joint loss


def mlm(z, y, **options):
    return F.cross_entropy(z.flatten(0, 1), y.flatten(), **options)


def nsp(z, y, **options):
    asked = y != -100
    return F.cross_entropy(z[asked], y[asked], reduction="sum", **options) / asked.sum().clamp(min=1)


LOSS_MISTAKES = {
    "pairs are missing": lambda p, r, y, n: mlm(p, y),
    "words are missing": lambda p, r, y, n: nsp(r, n),
    "mean of the two": lambda p, r, y, n: (mlm(p, y) + nsp(r, n)) / 2,
    "label 0 of the pairs": lambda p, r, y, n: mlm(p, y) + F.cross_entropy(r, n.clamp(min=0), ignore_index=0),
    "which is IsNext": lambda p, r, y, n: mlm(p, y) + F.cross_entropy(r, n, ignore_index=0),
    "ignore word 0": lambda p, r, y, n: mlm(p, y.clamp(min=0), ignore_index=0) + nsp(r, n),
    "second loss is a sum": lambda p, r, y, n: mlm(p, y) + F.cross_entropy(r, n, reduction="sum"),
    "divide by all rows": lambda p, r, y, n: mlm(p, y) + F.cross_entropy(r, n, reduction="sum") / len(n),
    "taken for IsNext": lambda p, r, y, n: mlm(p, y) + F.cross_entropy(r, n.clamp(min=0)),
    "divided by all positions": lambda p, r, y, n: mlm(p, y, reduction="sum") / y.numel() + nsp(r, n),
    "first loss is a sum": lambda p, r, y, n: mlm(p, y, reduction="sum") + nsp(r, n),
    "these are sums": lambda p, r, y, n: mlm(p, y, reduction="sum") + F.cross_entropy(r, n, reduction="sum"),
    "labels are swapped": lambda p, r, y, n: mlm(p, y) + nsp(r.flip(1), n),
    "softmax is applied twice": lambda p, r, y, n: mlm(p, y) + nsp(r.softmax(-1), n),
    "single texts": lambda p, r, y, n: mlm(p, y) + F.cross_entropy(r, n),
    "one number": lambda p, r, y, n: (mlm(p, y), nsp(r, n)),
    "your code stopped": lambda p, r, y, n: mlm(p, y) + nsp(r, y),
    "yours is": lambda p, r, y, n: mlm(p, y) + 5 * nsp(r, n),
}


def test_joint_loss_right():
    check_joint_loss(lambda p, r, y, n: mlm(p, y) + nsp(r, n))


@pytest.mark.parametrize("words", LOSS_MISTAKES)
def test_joint_loss_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_joint_loss(LOSS_MISTAKES[words])


# The whole model


def reading(read):
    """A model whose forward gives `read(self, bert's output)`."""

    def forward(self, ids, mask, types):
        return read(self, self.bert(ids, mask, types))

    return made(BertForPreTraining, forward)


def inputs(choose):
    """A model that hands on only part of its inputs."""

    def forward(self, *given):
        out = self.bert(**choose(*given))
        return self.mlm(out.last_hidden_state), self.nsp(out.pooler_output)

    return made(BertForPreTraining, forward)


def own_vectors(model):
    untie(model.mlm)


def torchs_start(model):
    model.nsp.reset_parameters()


def small_start(model):
    encoder.initialise(model, 0.02)


def with_biases(model):
    nn.init.normal_(model.mlm.dense.bias)


MODEL_MISTAKES = {
    "not tied": made(BertForPreTraining, after=own_vectors),
    "keep the configuration": made(BertForPreTraining, after=lambda model: delattr(model, "config")),
    "nsp.weight starts with": made(BertForPreTraining, after=torchs_start),
    "starts with std 0.02, not 0.3": made(BertForPreTraining, after=small_start),
    "mlm.dense.bias does not start at 0": made(BertForPreTraining, after=with_biases),
    "not those of the library": made(BertForPreTraining, after=lambda model: delattr(model, "nsp")),
    "two tensors": reading(lambda self, out: self.mlm(out.last_hidden_state)),
    "changed places": reading(lambda self, out: (self.nsp(out.pooler_output), self.mlm(out.last_hidden_state))),
    "attention_mask does not": inputs(lambda ids, mask, types: dict(input_ids=ids, token_type_ids=types)),
    "token_type_ids do not": inputs(lambda ids, mask, types: dict(input_ids=ids, attention_mask=mask)),
    "attention_mask and token_type_ids": inputs(
        lambda ids, mask, types: dict(input_ids=ids, attention_mask=types, token_type_ids=mask)
    ),
    "these are states": reading(lambda self, out: (out.last_hidden_state, self.nsp(out.pooler_output))),
    r"not the state of \[CLS\] itself": reading(
        lambda self, out: (self.mlm(out.last_hidden_state), self.nsp(out.last_hidden_state[:, 0]))
    ),
    "not the mean": reading(
        lambda self, out: (self.mlm(out.last_hidden_state), self.nsp(out.last_hidden_state.mean(1)))
    ),
    "two logits for each pair": reading(
        lambda self, out: (self.mlm(out.last_hidden_state), self.nsp(out.last_hidden_state))
    ),
    "return the logits": reading(
        lambda self, out: (self.mlm(out.last_hidden_state), self.nsp(out.pooler_output).softmax(-1))
    ),
    "words are right": reading(lambda self, out: (self.mlm(out.last_hidden_state), 2 * self.nsp(out.pooler_output))),
    "words are not the library's": reading(
        lambda self, out: (2 * self.mlm(out.last_hidden_state), self.nsp(out.pooler_output))
    ),
}


def right_model():
    return reading(lambda self, out: (self.mlm(out.last_hidden_state), self.nsp(out.pooler_output)))


def test_model_right():
    check_pretraining_model(right_model())


def test_a_model_of_ones_own_parts_is_right():
    class Mine(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config
            self.bert = BertModel(config)
            self.mlm = MaskedLMHead(config, self.bert.embeddings.word)
            self.nsp = nn.Linear(config.hidden_size, 2)
            encoder.initialise(self, config.initializer_range)

        def forward(self, ids, mask, types):
            out = self.bert(ids, mask, types)
            return self.mlm(out.last_hidden_state), self.nsp(out.pooler_output)

    check_pretraining_model(Mine)


@pytest.mark.parametrize("words", MODEL_MISTAKES)
def test_model_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_pretraining_model(MODEL_MISTAKES[words])


def test_the_checkers_leave_the_random_state_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    check_mlm_head(MaskedLMHead)
    check_pretraining_model(right_model())
    assert torch.equal(before, torch.get_rng_state())
