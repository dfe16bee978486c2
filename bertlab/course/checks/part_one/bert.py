"""Checkers of the encoder as a whole: its parameters counted, and the reader's BertModel."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.course.checks.base import checker, close, expect, none_of, run, same_weights, small_batch, tensors
from bertlab.model.encoder import BertModel


@checker
def check_count_parameters(fn: Callable[[BertConfig], int]) -> None:
    """Check fn(config) -> the number of parameters of BertModel, pooler and all."""
    odd: dict[str, Any] = dict(
        hidden_size=30, num_attention_heads=5, intermediate_size=77, num_hidden_layers=4, type_vocab_size=3
    )
    for config in (BertConfig(vocab_size=1000, max_position_embeddings=64, **odd), BertConfig.from_size("base")):
        result = run(fn, config)
        expect(isinstance(result, int), f"return a whole number, not {type(result).__name__}.")
        off = result - _count(config)
        for name, count in _often_forgotten(config).items():
            expect(off != -count, f"you forgot {name}: {count:,} parameters.")
            expect(off != count, f"you counted {name} once too often: {count:,} parameters.")
        expect(
            off == 0,
            f"for {_count(config):,} parameters you get {result:,}: {abs(off):,} too {'many' if off > 0 else 'few'}.",
        )
    print("Right, to the unit.")


def _count(config: BertConfig) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in BertModel(config).parameters())


def _often_forgotten(config: BertConfig) -> dict[str, int]:
    H, F, L = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    biases = L * (4 * H + F + H)
    parts = {
        "the pooler": H * H + H,
        "the table of positions": config.max_position_embeddings * H,
        "the table of segments": config.type_vocab_size * H,
        "the table of words": config.vocab_size * H,
        "the LayerNorm of the embeddings": 2 * H,
        "one LayerNorm of each layer": L * 2 * H,
        "both LayerNorms of each layer, or the biases of attention's four maps (the same number)": L * 4 * H,
        "all LayerNorms": L * 4 * H + 2 * H,
        "the bias of every LayerNorm": (2 * L + 1) * H,
        "all biases of the layers' linear maps": biases,
        "all biases of linear maps": biases + H,
        "the biases of queries, keys and values": L * 3 * H,
        "the biases of the feed-forward networks": L * (F + H),
        "the linear map `out` of attention": L * (H * H + H),
        "two of queries, keys and values": L * 2 * (H * H + H),
        "one half of the feed-forward network": L * (H * F + F),
        "the other half of the feed-forward network": L * (F * H + H),
        "all layers but one": (L - 1) * (4 * (H * H + H) + 2 * H * F + F + H + 4 * H),
    }
    return parts | {
        "queries, keys and values for every further head": L * (config.num_attention_heads - 1) * 3 * (H * H + H)
    }


@checker
def check_bert_model(cls: type[nn.Module]) -> None:
    """Check cls(config) with the library's names; forward(input_ids, attention_mask, token_type_ids), each (B, S) ->
    last hidden state (B, S, H), pooler output (B, H)."""
    sizes: dict[str, Any] = dict(hidden_size=24, num_attention_heads=3, intermediate_size=40, num_hidden_layers=3)
    config = BertConfig(vocab_size=50, max_position_embeddings=16, initializer_range=0.3, **sizes)
    library, mine = same_weights(BertModel, cls, config)
    own, total = (sum(parameter.numel() for parameter in model.parameters()) for model in (mine, library))
    message = f"you have {own:,} parameters of your own, the library {total:,}"
    expect(own == total, f"{message}: [Layer(config)] * L is one layer.")
    with torch.no_grad():
        _check_outputs(mine, library)
    print("Right: with the same weights your BERT and the library's give the same.")


def _check_outputs(mine: nn.Module, library: BertModel) -> None:
    ids, mask, types = small_batch()
    hidden, pooled = tensors(
        run(mine, ids, mask, types), 2, "two tensors, the last hidden state and the pooler's output"
    )
    right = library(ids, mask, types)
    none_of(
        hidden,
        [
            (library(ids, None, types).last_hidden_state, "padding was not hidden: attention_mask is not used."),
            (
                library(ids, 1 - mask, types).last_hidden_state,
                "the mask is the wrong way round: attention_mask is 1 on tokens, `padding` is True elsewhere.",
            ),
            (library(ids, mask).last_hidden_state, "token_type_ids are not used."),
            (library.embeddings(ids, types), "the layers are not applied: these are the embeddings."),
        ],
    )
    expect(close(hidden, right.last_hidden_state), "the last hidden state is not the library's.")
    none_of(pooled, _known_poolers(library, hidden))
    expect(close(pooled, right.pooler_output), "the hidden state is right, the pooler's output is not.")


def _known_poolers(library: BertModel, hidden: Tensor) -> list[tuple[Tensor, str]]:
    assert library.pooler is not None
    dense = library.pooler.dense
    return [
        (dense(hidden[:, 0]), "the pooler's tanh is missing."),
        (hidden[:, 0], "this is the state of [CLS] itself: the pooler has a layer and a tanh."),
        (dense(hidden.mean(1)).tanh(), "the pooler reads [CLS] alone, hidden[:, 0], not the mean over the tokens."),
        (dense(hidden[:, -1]).tanh(), "the pooler reads the first token, [CLS], not the last."),
        (dense(hidden[:, 0]).relu(), "the pooler has tanh, not ReLU."),
        (dense(hidden).tanh(), "the pooler is for the first token alone: (B, H)."),
    ]


@checker
def check_initialise(fn: Callable[..., None]) -> None:
    """Check fn(model, std=0.02): matrices and embeddings normal with std, biases 0, LayerNorm 1 and 0, [PAD] 0."""
    for std in (0.02, 0.3):
        model = _Parts()
        with torch.random.fork_rng([]), torch.enable_grad():  # as where it is used
            torch.manual_seed(0)
            run(fn, model, std)
        _check_normal(model.word.weight[1:], std, "the embeddings")
        kept = bool(model.position.weight.any())
        expect(kept, "a table without padding_idx is all 0: weight[None] is the whole table, so ask for `is not None`.")
        _check_normal(model.position.weight, std, "the embeddings without padding_idx")
        _check_normal(model.dense.weight, std, "the matrices of nn.Linear")
        expect(not model.dense.bias.any(), "biases begin at 0; PyTorch draws them.")
        zero = not model.word.weight[0].any()
        expect(zero, "the row of [PAD] (padding_idx) begins at 0. A tied output layer draws it again: zero it last.")
        ones = bool((model.norm.weight == 1).all())
        expect(ones and not model.norm.bias.any(), "LayerNorm begins with weight 1 and bias 0: leave it as it is.")
    with torch.random.fork_rng([]), torch.enable_grad():  # as where it is used
        torch.manual_seed(0)
        run(fn, model)
    _check_normal(model.dense.weight, 0.02, "without std, the matrices")
    expect(model.decoder.weight is model.word.weight, "the tied matrix came apart: nn.init.normal_ writes into it.")
    print("Right: matrices and tables normal, biases and [PAD] 0, LayerNorm 1 and 0.")


class _Parts(nn.Module):
    """One of each kind, with the decoder's matrix tied."""

    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(400, 64, padding_idx=0)
        self.position = nn.Embedding(100, 64)
        self.dense = nn.Linear(64, 64)
        self.norm = nn.LayerNorm(64)
        self.decoder = nn.Linear(64, 400)
        self.decoder.weight = self.word.weight
        nn.init.normal_(self.word.weight)


def _check_normal(weight: Tensor, std: float, what: str) -> None:
    weight = weight.detach()
    found, most = float(weight.std()), float(weight.abs().max())
    expect(abs(found - 1) > 0.05 or std == 1, f"{what} have std {found:.2f}: this is PyTorch's own start, or std=1.")
    expect(most >= 2 * found, f"{what} are uniform, as PyTorch draws them: nn.init.normal_(weight, std=std).")
    cut = most < 2.01 * std and abs(found / std - 0.88) < 0.03
    expect(not cut, f"{what} are cut at two std, as in Google's code; here nn.init.normal_ without a limit.")
    squared = abs(found / std**2 - 1) < 0.1
    expect(not squared, f"{what} have std {found:.4f}: this is {std} squared; normal_ takes the standard deviation.")
    expect(abs(found / std - 1) < 0.1, f"{what} have std {found:.3f}; it should be {std}.")
