"""Checkers of what stands on the encoder in pretraining: masked-word head and loss, joint loss, whole model."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.course.checks.base import (
    Mistake,
    checker,
    close,
    expect,
    none_of,
    random_tensor,
    run,
    same_weights,
    small_batch,
    tensors,
)
from bertlab.model.heads import BertForPreTraining, MaskedLMHead

SIZES: dict[str, Any] = dict(
    vocab_size=50, hidden_size=24, num_attention_heads=3, intermediate_size=40, num_hidden_layers=2
)
IGNORES_0 = "you ignore label 0 of the pairs, which is IsNext: only -100 is no label."
TIE = "self.decoder.weight = word.weight makes both the same parameter."


@checker
def check_mlm_head(cls: type[nn.Module]) -> None:
    """Check cls(config, word) with the library's names; forward(states (B, S, H)) -> logits (B, S, V)."""
    config = BertConfig(**SIZES)
    word = nn.Embedding.from_pretrained(random_tensor(config.vocab_size, config.hidden_size), freeze=False)
    library, mine = same_weights(MaskedLMHead, cls, config, word, spread=0.3)
    states = random_tensor(2, 5, 24)
    with torch.no_grad():
        logits = run(mine, states)
        expect(mine.decoder.weight is word.weight, f"the decoder has a matrix of its own: {TIE}")
        expect(isinstance(logits, Tensor), "return one tensor, the logits.")
        none_of(logits, _known_heads(library, states))
        expect(close(logits, library(states)), "the logits are not the library's.")
    print("Right: dense, GELU, LayerNorm, then a logit for every word vector.")


def _known_heads(library: MaskedLMHead, states: Tensor) -> list[tuple[Tensor, str]]:
    """What the usual slips give with the library's weights."""
    dense, norm, decoder = library.dense, library.norm, library.decoder
    right = library.transform(states)
    return [
        (decoder(states), "the layer before the decoder is missing: dense, GELU, norm."),
        (decoder(norm(dense(states))), "there is no activation between dense and norm."),
        (decoder(norm(F.relu(dense(states)))), "the activation is GELU, as in the encoder, not ReLU."),
        (decoder(norm(dense(states).tanh())), "the activation is GELU; tanh is the pooler's."),
        (decoder(F.gelu(dense(states))), "the LayerNorm is missing."),
        (decoder(F.gelu(norm(dense(states)))), "GELU comes before the LayerNorm."),
        (decoder(norm(dense(F.gelu(states)))), "GELU comes after `dense`."),
        (decoder(right).argmax(-1), "give the logits of all words, (B, S, V), not the best word."),
        (decoder(norm(states + F.gelu(dense(states)))), "nothing is added here: the head has no residual connection."),
        (right @ decoder.weight.T, "the decoder's bias is missing."),
        (decoder(right).softmax(-1), "give the logits: the softmax is the loss's business."),
        (right, "these are still states: the product with the word vectors is missing."),
    ]


@checker
def check_joint_loss(fn: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check fn(prediction_logits (B, S, V), relationship_logits (B, 2), labels (B, S), next_sentence_label (B,)), both
    labels with -100, -> the sum of the two mean losses."""
    words, pairs = random_tensor(4, 6, 9), random_tensor(4, 2, seed=1)
    labels = torch.full((4, 6), IGNORED)
    labels[0, 1:4], labels[2, 2], labels[3, 4] = torch.tensor([4, 0, 7]), 5, 8
    following = torch.tensor([0, 1, 0, IGNORED])
    known = following.clamp(min=0)  # first without -100, at which a loss that ignores another label would stop
    negatives_only = _mean(words, labels) + _mean(pairs[known != 0], known[known != 0])
    expect(not close(_loss(fn, words, pairs, labels, known), negatives_only), IGNORES_0)
    result = _loss(fn, words, pairs, labels, following)
    none_of(result, _known_losses(words, pairs, labels, following))
    right = _mean(words, labels) + _mean(pairs, following)
    expect(close(result, right), f"the loss of the test case is {right:.4f}; yours is {float(result):.4f}.")
    alone = _loss(fn, words, pairs, labels, torch.full_like(following, IGNORED))
    expect(
        close(alone, _mean(words, labels)),
        "in a batch of single texts no pair has a label, and the loss should be that of the words alone; "
        f"yours is {float(alone):.4f}.",
    )
    print("Right: the mean over the chosen words plus the mean over the pairs with a label.")


def _loss(fn: Callable, *inputs: Tensor) -> Tensor:
    result = run(fn, *inputs)
    expect(isinstance(result, Tensor) and result.numel() == 1, "return one number, the loss.")
    return result.view(())


def _mean(logits: Tensor, labels: Tensor) -> Tensor:
    asked = labels != IGNORED
    return F.cross_entropy(logits[asked], labels[asked])


def _known_losses(words: Tensor, pairs: Tensor, labels: Tensor, following: Tensor) -> list[tuple[Tensor, str]]:
    """What the usual slips give."""
    mlm, nsp = _mean(words, labels), _mean(pairs, following)
    asked, rows = (following != IGNORED).sum(), len(following)
    negatives_only = F.cross_entropy(pairs, following.clamp(min=0), ignore_index=0)
    no_word_0 = F.cross_entropy(words.flatten(0, 1), labels.clamp(min=0).flatten(), ignore_index=0)
    return [
        (mlm, "the pairs are missing: add the loss of the second task."),
        (nsp, "the words are missing: add the loss of the first task."),
        ((mlm + nsp) / 2, "this is the mean of the two losses: BERT takes their sum."),
        (mlm + negatives_only, IGNORES_0),
        (no_word_0 + nsp, "you ignore word 0, which is a word like any other: only -100 is no label."),
        (no_word_0 + negatives_only, "you ignore label 0 in both tasks: only -100 is no label."),
        (mlm * (labels != IGNORED).sum() + nsp * asked, "these are sums: each loss is a mean, over what was asked."),
        (mlm + nsp * asked, "the second loss is a sum: divide it by the number of pairs with a label."),
        (mlm + nsp * asked / rows, "you divide by all rows: the text alone, with label -100, was not asked."),
        (mlm + _mean(pairs, following.clamp(min=0)), "the text alone, with label -100, was taken for IsNext."),
        (mlm * (labels != IGNORED).sum() / labels.numel() + nsp, "the first loss is divided by all positions."),
        (mlm * (labels != IGNORED).sum() + nsp, "the first loss is a sum: divide it by the number of chosen words."),
        (mlm + _mean(pairs, (1 - following).where(following != IGNORED, following)), "the labels are swapped."),
        (mlm + _mean(pairs.softmax(-1), following), "softmax is applied twice: cross_entropy takes logits."),
    ]


@checker
def check_pretraining_model(cls: type[nn.Module]) -> None:
    """Check cls(config) with config, bert, mlm and nsp; forward(input_ids, attention_mask, token_type_ids), each (B, S)
    -> logits of words (B, S, V), logits of the pair (B, 2); weights start with config.initializer_range."""
    config = BertConfig(max_position_embeddings=16, initializer_range=0.3, **SIZES)
    library, mine = same_weights(BertForPreTraining, cls, config)
    tied = mine.mlm.decoder.weight is mine.bert.embeddings.word.weight
    expect(tied, "the head is not tied to your own word vectors: give it self.bert.embeddings.word.")
    expect(getattr(mine, "config", None) == config, "keep the configuration, self.config = config: saving needs it.")
    _check_start(cls, config)
    with torch.no_grad():
        _check_logits(mine, library)
    print("Right: with the same weights your BERT and the library's give the same logits, for words and for pairs.")


def _check_start(cls: type[nn.Module], config: BertConfig) -> None:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = cls(config)
    wanted = config.initializer_range
    last = "call initialise(self, config.initializer_range) in the last line of __init__"
    for name, module in model.named_modules():
        if not isinstance(module, nn.Linear | nn.Embedding):
            continue
        std = float(module.weight.detach().std())
        expect(abs(std / wanted - 1) < 0.35, f"{name}.weight starts with std {std:.2f}, not {wanted}: {last}.")
        zero = module.bias is None or not module.bias.any() if isinstance(module, nn.Linear) else True
        expect(zero, f"{name}.bias does not start at 0: {last}.")


def _check_logits(mine: nn.Module, library: BertForPreTraining) -> None:
    ids, mask, types = small_batch()
    words, pairs = tensors(run(mine, ids, mask, types), 2, "two tensors, the logits of words and those of pairs")
    right = library(ids, mask, types)
    states = library.bert(ids, mask, types).last_hidden_state
    expect(not close(words, right.seq_relationship_logits), "the two results have changed places: words come first.")
    none_of(
        words,
        [
            (library(ids, None, types).prediction_logits, "attention_mask does not reach the encoder."),
            (library(ids, mask).prediction_logits, "token_type_ids do not reach the encoder."),
            (library(ids, types, mask).prediction_logits, "attention_mask and token_type_ids have changed places."),
            (states, "these are states: they have not been through the head `mlm`."),
        ],
    )
    expect(close(words, right.prediction_logits), "the logits of the words are not the library's.")
    none_of(
        pairs,
        [
            (library.nsp(states[:, 0]), "`nsp` reads the pooler's output, not the state of [CLS] itself."),
            (library.nsp(states.mean(1)), "`nsp` reads the pooler's output, not the mean over the tokens."),
            (library.nsp(states), "`nsp` gives two logits for each pair: it reads the pooler's output (B, H)."),
            (right.seq_relationship_logits.softmax(-1), "return the logits: the softmax is part of the loss."),
        ],
    )
    expect(close(pairs, right.seq_relationship_logits), "the words are right, the logits of the pairs are not.")


@checker
def check_mlm_loss(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(logits (B, S, V), labels (B, S) with -100) -> mean loss over the labelled positions."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 8, 12, generator=generator)
    labels = torch.full((3, 8), IGNORED)
    labels[0, 1:6], labels[1, 2], labels[2, [0, 3]] = torch.tensor([4, 0, 7, 1, 3]), 5, torch.tensor([0, 9])
    value = _value(fn, logits, labels)
    chosen = labels != IGNORED
    each = F.cross_entropy(logits[chosen], labels[chosen], reduction="none")  # (M,)
    _diagnose_loss(value, logits, labels, each)
    empty = _value(fn, logits, torch.full_like(labels, IGNORED))
    expect(
        not math.isnan(empty),
        "with no label at all the loss is nan, and one such batch ruins all weights: divide by max(count, 1).",
    )
    expect(empty == 0, f"with no label at all the loss should be 0, not {empty:.4f}.")
    print("Right: the mean over the masked positions alone.")


def _value(fn: Callable[[Tensor, Tensor], Tensor], logits: Tensor, labels: Tensor) -> float:
    try:
        result = fn(logits, labels)
    except NotImplementedError:
        raise
    except (IndexError, RuntimeError) as error:
        raise Mistake(
            f"your function stopped with: {error}. Cross-entropy wants (N, V) and (N,); -100 is no word, leave it out."
        ) from error
    expect(isinstance(result, Tensor | float | int), "return one number, the mean.")
    shape = tuple(torch.as_tensor(result).shape)
    expect(math.prod(shape) == 1, f"return one number, the mean: yours has shape {shape}.")
    return float(result)


def _diagnose_loss(value: float, logits: Tensor, labels: Tensor, each: Tensor):
    chosen = labels != IGNORED
    log_p = logits.log_softmax(-1)
    nonzero = labels.clamp(min=0)
    rows = [F.cross_entropy(row[mask], label[mask]) for row, label, mask in zip(logits, labels, chosen, strict=True)]
    twice = F.nll_loss(logits.softmax(-1)[chosen], labels[chosen])
    known = {
        each.sum() / labels.numel(): "you divide by all positions: the loss then shrinks with every unmasked or padded "
        "token. Divide by the number of labels that are not -100.",
        each.sum(): "this is the sum: divide by the number of masked positions.",
        torch.stack(rows).mean(): "you average over rows first: a row with one mask then weighs as much as one "
        "with five. Take one mean over all masked positions.",
        -log_p.flatten(0, 1)[range(labels.numel()), nonzero.flatten()].mean(): "-100 was counted as word 0: "
        "positions without a label must not enter the loss.",
        F.cross_entropy(logits.flatten(0, 1), nonzero.flatten(), ignore_index=0): "you ignore label 0, which is a "
        "word like any other; ignore -100.",
        twice: "you took probabilities where log-probabilities belong: the loss is -log p.",
        F.cross_entropy(logits[chosen].softmax(-1), labels[chosen]): "softmax is applied twice: cross_entropy "
        "wants raw logits.",
        -each.mean(): "the sign is wrong: the loss is minus the log-probability.",
        each.mean() / math.log(2): "this is in bits; BERT's loss is in nats (natural logarithm).",
    }
    for wrong, message in known.items():
        expect(abs(value - float(wrong)) > 1e-4, message)
    right = float(each.mean())
    expect(abs(value - right) < 1e-5, f"the loss of the test case is {right:.4f}; yours is {value:.4f}.")
