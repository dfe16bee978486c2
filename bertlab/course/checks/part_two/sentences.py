"""Checkers of chapter 10: pooling, in-batch negatives, choices as rows, shortcuts, retrieval."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.corpora.examples import TextExample
from bertlab.course.checks.base import checker, close, expect, none_of, random_tensor, run, same_weights
from bertlab.course.solutions import two_sentences as solution
from bertlab.course.solutions.config import Config
from bertlab.course.solutions.tokenizer import Tokenizer
from bertlab.io.locate import locate
from bertlab.model import BertForMultipleChoice

NO_NEGATIVES = "the other texts of the batch are missing: without negatives, one vector for all texts would be best."
TEXTS_NOT_RANKS = (
    "argsort says which text is at each rank, not which rank a text has: turn it around, for example with a second"
    " argsort."
)
WORDS = "storyworld-tiny"  # whose vocabulary the checkers of rows use


@checker
def check_mean_pool(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(states (B, S, H), attention_mask (B, S)) -> the mean over the tokens (B, H)."""
    states, mask = random_tensor(3, 6, 4), torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1, 0, 0, 0, 0, 0]])
    result = run(fn, states.clone(), mask.clone())
    real = mask[:, :, None].float()
    total = (states * real).sum(1)
    expect(isinstance(result, Tensor), "return a tensor (B, H).")
    none_of(
        result,
        [
            (states.mean(1), "padding is in your mean: a text would get another vector in another batch."),
            (total, "this is the sum; a long text would get a longer vector: divide by the number of tokens."),
            (total / 6, "you divide by the length of the row, padding included: divide by the number of tokens."),
            (states[:, 0], "this is the state of [CLS] alone: take the mean over all tokens."),
            (states.amax(1), "this is the maximum of each feature, not the mean."),
            (total / real.sum(), "you divide by the tokens of the whole batch: each row has its own number."),
            (F.normalize(total / real.sum(1), dim=-1), "return the mean as it is: the loss normalises it."),
        ],
    )
    expect(result.shape == (3, 4), f"your result is {tuple(result.shape)}, not (B, H) = (3, 4): the mean runs over S.")
    expect(close(result, total / real.sum(1)), "that is not the mean of the states where the mask is 1.")
    print("Right: the mean of the tokens, whatever stands behind them.")


@checker
def check_in_batch_loss(fn: Callable[..., Tensor]) -> None:
    """Check fn(first (B, H), second (B, H), scale) -> the loss of finding each partner among all second texts."""
    first, second = random_tensor(5, 8), random_tensor(5, 8, seed=1) * 3
    result = run(fn, first.clone(), second.clone(), 7.0)
    expect(isinstance(result, Tensor) and result.dim() == 0, "return one number, the mean over the batch.")
    a, b, right = F.normalize(first, dim=-1), F.normalize(second, dim=-1), torch.arange(5)
    cosines = a @ b.T
    itself = (7 * a @ torch.cat([a, b]).T)[:, :5]
    none_of(
        result,
        [
            (F.cross_entropy(7 * first @ second.T, right), "vectors must have length 1: F.normalize both sides first."),
            (F.cross_entropy(cosines, right), "scale is missing: cosines end at 1, so the softmax would stay flat."),
            (F.cross_entropy(cosines / 7, right), "multiply by scale; you divide by it."),
            (F.cross_entropy(7 * cosines.T, right), "each row should be a first text; yours are the second texts."),
            (F.cross_entropy(itself, right), "you compare with the first texts; the partner is a second one."),
            (5 * F.cross_entropy(7 * cosines, right), "that is the sum; return the mean over the batch."),
            (-(7 * cosines).softmax(-1).diag().mean(), "minus the probability; the loss is minus its logarithm."),
            (-(7 * cosines).diag().mean(), NO_NEGATIVES),
            (1 - cosines.diag().mean(), NO_NEGATIVES),
        ],
    )  # fmt: skip
    expect(close(result, F.cross_entropy(7 * cosines, right)), "row i of the logits has its partner in column i.")
    default = run(fn, first.clone(), second.clone())
    expect(close(default, F.cross_entropy(20 * cosines, right)), "without a third argument the scale is 20.")
    print("Right: every other text of the batch is a negative.")


@checker
def check_sentence_encoder(cls: type[nn.Module]) -> None:
    """Check cls(config): forward gives vectors (B, H); loss takes "first" and "second"."""
    config = Config(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                             intermediate_size=32, max_position_embeddings=16)  # fmt: skip
    mine = cls(config).eval()
    theirs: Any = solution.SentenceEncoder(config).eval()
    mine.load_state_dict(theirs.state_dict())
    names = ("input_ids", "attention_mask", "token_type_ids")
    ids = torch.arange(21).view(3, 7) + 5
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3, [1] * 6 + [0]])
    first = dict(zip(names, (ids, mask, torch.zeros_like(ids)), strict=True))
    second = dict(zip(names, (ids.flip(0), mask.flip(0), torch.zeros_like(ids)), strict=True))
    expect(close(run(lambda: mine(**first)), theirs(**first)), "forward should give the mean of the tokens (B, H).")
    loss = run(mine.loss, {"first": first, "second": second})  # type: ignore[arg-type]
    right = theirs.loss({"first": first, "second": second})
    expect(close(loss, right), "loss should be in_batch_loss of the vectors of first and second.")
    print("Right: one encoder, both texts.")


@checker
def check_choice_rows(fn: Callable[..., dict[str, Tensor]]) -> None:
    """Check fn(tokenizer, texts, choices, max_tokens) -> the three inputs (B, C, S)."""
    tokenizer = Tokenizer.from_file(locate(WORDS) / "vocab.txt")
    texts = ["The dog was tired.", "It rained."]
    choices = [["It slept.", "It flew to the moon.", "It ran."], ["She sang.", "He took the umbrella.", "They left."]]
    result = run(fn, tokenizer, list(texts), [list(options) for options in choices])
    right = solution.choice_rows(tokenizer, texts, choices)
    expect(isinstance(result, dict) and set(result) == set(right), f"return a dict with {', '.join(right)}.")
    ids, rows = result["input_ids"], right["input_ids"]
    expect(ids.dim() == 3, f"your input_ids are {tuple(ids.shape)}; a choice is a row, a question a block: (B, C, S).")
    expect(
        ids.shape != rows.transpose(0, 1).shape, "the questions should come first and their choices second: (B, C, S)."
    )
    wrong = solution.inputs(tokenizer, texts * 3, [o for options in choices for o in options])["input_ids"]
    expect(
        not _same(ids, wrong.view(2, 3, -1)),
        "choices stand behind the wrong text: `texts * C` repeats A B A B ..., the choices go A A A B B B.",
    )
    turned = solution.inputs(tokenizer, [o for options in choices for o in options], [t for t in texts for _ in "abc"])
    expect(not _same(ids, turned["input_ids"].view(2, 3, -1)), "the text comes first, then its choice.")
    alone = solution.inputs(tokenizer, [o for options in choices for o in options])
    expect(not _same(ids, alone["input_ids"].view(2, 3, -1)), "the text is missing: each row is a text and one choice.")
    expect(_same(ids, rows), "row c of question b should be [CLS] text b [SEP] choice c of b [SEP].")
    for name in ("token_type_ids", "attention_mask"):
        expect(torch.equal(result[name], right[name]), f"{name} do not fit: shape them as input_ids.")
    short = run(fn, tokenizer, texts, choices, 8)
    expect(short["input_ids"].size(2) <= 8, "max_tokens has no effect: pass it on to inputs.")
    print("Right: a question is a block of rows, one for each choice.")


def _same(ids: Tensor, right: Tensor) -> bool:
    return ids.shape == right.shape and torch.equal(ids, right)


@checker
def check_multiple_choice(cls: type[nn.Module]) -> None:
    """Check cls(config) against the library's BertForMultipleChoice, with (B, C, S) inputs."""
    from bertlab import BertConfig

    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=16)  # fmt: skip
    theirs, mine = same_weights(BertForMultipleChoice, cls, config, spread=0.1)
    ids = torch.arange(2 * 3 * 7).view(2, 3, 7) % 45 + 5
    mask = torch.ones_like(ids)
    mask[1, 2, 4:] = 0
    kinds = (torch.arange(7) > 3).long().expand_as(ids)
    result = run(mine, ids, mask, kinds)
    right = theirs(ids, mask, kinds).logits
    expect(isinstance(result, Tensor) and result.shape == (2, 3), "logits should be (B, C): one for each choice.")
    expect(not close(result, right.softmax(-1)), "return logits; cross_entropy takes the softmax itself.")
    expect(close(result, right), "that is not one logit for each row: flatten, encode, classify, view as (B, C).")
    batch = dict(input_ids=ids, attention_mask=mask, token_type_ids=kinds, labels=torch.tensor([2, 0]))
    expect(
        close(run(mine.loss, batch), F.cross_entropy(right, batch["labels"])),
        "the loss is a cross-entropy over the choices of each question.",
    )
    print("Right: the choices compete in one softmax.")


@checker
def check_hypothesis_only(fn: Callable[[Any], Any]) -> None:
    """Check fn(example) -> the example with its second text alone, as the model of a shortcut gets it."""
    given = TextExample("7", "Ann owned a drum.", "The drum of Ann was red.", "neutral")
    result = run(fn, given)
    expect(isinstance(result, TextExample), "return a TextExample.")
    expect(given.text not in (result.text, result.pair), "the premise is still there: the control must not see it.")
    expect(result.text == given.pair, "the hypothesis should be the text now.")
    expect(result.pair is None, "there is one text only: pair should be None, not a second copy or an empty text.")
    expect(result.label == given.label, "keep the label: that is what the control must guess.")
    expect(result.id == given.id, "keep the id.")
    print("Right: whoever guesses well from this has not compared anything.")


@checker
def check_recall_at(fn: Callable[[Tensor, Tensor, int], float]) -> None:
    """Check fn(similarity (Q, N), right (Q,), k) -> the share of questions whose right text is among the k best."""
    similarity = random_tensor(12, 30)
    right = torch.arange(12) * 2
    similarity[torch.arange(5), right[:5]] = torch.tensor([9.0, 9.0, 2.0, 1.5, 1.2])
    best = similarity.topk(5, dim=1).indices
    share = float((best == right[:, None]).any(1).float().mean())
    value = run(fn, similarity.clone(), right.clone(), 5)
    expect(isinstance(value, Tensor | float | int), "return one number.")
    result = float(value)
    worst = float((similarity.topk(5, dim=1, largest=False).indices == right[:, None]).any(1).float().mean())
    first = float((similarity.argmax(1) == right).float().mean())
    diagonal = float((best == torch.arange(12)[:, None]).any(1).float().mean())
    for wrong, message in (
        (share * 12, "that is a count: divide by the number of questions."),
        (share / 5, "each question counts once, not k times: 1 if its text is among the k, else 0."),
        (first, "that is recall@1: take the k most similar texts, not the most similar one alone."),
        (worst, "those are the k least similar texts: sort from the largest."),
        (diagonal, "the right text of question q is right[q], not number q."),
    ):
        expect(abs(result - wrong) > 1e-6 or abs(wrong - share) < 1e-6, message)
    expect(abs(result - share) < 1e-6, f"a case with {share:.2f} gives {result:.2f}: look at each row by itself.")
    expect(abs(float(run(fn, similarity, right, 30)) - 1) < 1e-6, "among all texts every right one is found.")
    print("Right: the share of questions whose right text is among the first k.")


@checker
def check_fuse(fn: Callable[[Sequence[np.ndarray]], np.ndarray]) -> None:
    """Check fn([scores (N,), ...]) -> the sum of 1 / (60 + rank) over the lists of scores, rank 1 the highest."""
    rng = np.random.default_rng(0)
    lists = [rng.normal(size=9), 1000 * rng.normal(size=9)]
    result = np.asarray(run(fn, [scores.copy() for scores in lists]))
    expect(result.shape == (9,), "return one number for each text (N,).")

    def fused(rank: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.sum([1 / (60 + rank(scores)) for scores in lists], axis=0)

    def near(wrong: np.ndarray) -> bool:
        return bool(np.allclose(result, wrong, atol=1e-7))

    def ranks(scores: np.ndarray) -> np.ndarray:
        return (-scores).argsort().argsort() + 1

    for wrong, message in (
        (sum(lists), "that adds the scores: the list with the larger numbers decides alone. Add up ranks."),
        (fused(lambda s: (-s).argsort() + 1), TEXTS_NOT_RANKS),
        (fused(lambda s: (-s).argsort()), TEXTS_NOT_RANKS),
        (fused(lambda s: s.argsort().argsort() + 1), "rank 1 is the highest score; yours is the lowest."),
        (fused(lambda s: (-s).argsort().argsort()), "ranks begin with 1."),
        (sum(ranks(scores) for scores in lists), "add up 1 / (60 + rank), so that a higher number is better."),
        (fused(ranks) / len(lists), "the sum, not the mean."),
    ):  # fmt: skip
        expect(not near(np.asarray(wrong)), message)
    expect(near(fused(ranks)), "for each text, add up 1 / (60 + its rank in the list) over the lists.")
    print("Right: no scale decides, only the order.")
