"""The linear-chain CRF: the score of a path, the sum over all, the best one, marginals, the class, the tagger."""

from typing import Any

import torch
from torch import Tensor

from bertlab.course.chapter_11.exercises.labels import DECODED, NAMES, on_words, tagger, tagger_cases
from bertlab.course.exercise import Exercise
from bertlab.course.observe import call, expect, module, random_tensor, value
from bertlab.course.solutions import every_token
from bertlab.course.solutions.every_token import log_partition


def sentences(*lengths: int, labels: int = 3, scale: float = 1.0) -> tuple[Tensor, ...]:
    """logits (B, W, N), mask (B, W), start (N,), steps (N, N), end (N,); steps weigh as much as logits."""
    logits = scale * random_tensor(len(lengths), max(lengths), labels, seed=1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    start, end = scale * 2 * random_tensor(labels, seed=2), scale * random_tensor(labels, seed=3)
    return logits, mask, start, scale * 2 * random_tensor(labels, labels, seed=4), end


def _batches() -> list[tuple]:
    return [sentences(5, 4, 3, 2, 1, 5, 3, 2, 4, 2, 3, 1), sentences(2, 4, labels=5)]


def _batches_and_a_word() -> list[tuple]:
    return [*_batches(), sentences(1)]


START, END = "the scores of the first labels (start) are missing.", "the scores of the last labels (end) are missing."
TURNED, STEPS = "the steps are turned round: row = from, column = to.", "the steps from label to label are missing."
PADDING = "padding is counted: only words whose mask is True have a score."


def _labelled() -> list[tuple]:
    """The batches with labels, once -100 behind the words and once any."""
    found = []
    for number, (logits, mask, *scores) in enumerate(_batches()):
        labels = random_tensor(*logits.shape, seed=5).argmax(-1)
        found.append((logits, labels if number else labels.masked_fill(~mask, -100), mask, *scores))
    return found


OWN = "(logits.gather(2, labels[:, :, None])[:, :, 0] * mask).sum(1)"
BETWEEN = "(steps[labels[:, :-1], labels[:, 1:]] * mask[:, 1:]).sum(1)"

check_path_score = Exercise(
    every_token.path_score,
    _labelled,
    right="Right: the score of each path.",
    kept=("path_score",),
    slips=[
        (PADDING, "labels = labels => mask = torch.ones_like(mask)\n    labels = labels"),
        (PADDING, "[:, :, 0] * mask) => [:, :, 0])"),
        ("padding is counted: a step leads to a word whose mask is True.", " * mask[:, 1:] => "),
        (
            "the last label is that of the last word whose mask is True, not of the row.",
            "labels.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0] => labels[:, -1]",
        ),
        (START, "start[labels[:, 0]] + => "),
        (END, " + end[labels.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]] => "),
        (TURNED, "labels[:, :-1], labels[:, 1:] => labels[:, 1:], labels[:, :-1]"),
        (STEPS, f"score + {BETWEEN} => score"),
        ("the logits of the labels are missing.", f"score + {OWN} => score"),
        ("return one score for each sentence: sum over its words.", f"{OWN} => {OWN}.sum()"),
    ],
    spared={"masked_fill(~mask, 1)": "which label stands behind the words is free"},
)


def _stable(fn, *case) -> dict[str, Any]:
    large, word = fn(*sentences(3, 2, scale=100.0)), fn(*sentences(1))
    finite = bool(torch.as_tensor(large).isfinite().all())
    more = {"large scores give finite sums": finite, "result for large scores": large, "result for one word": word}
    return call(fn, *case) | more


MAX = "only the best path is followed: sum over the labels before (logsumexp), do not take the max."
LONGER = "(total[:, :, None] + steps).logsumexp(1)"
WHERE = "torch.where(mask[:, word, None], longer, total)"

check_log_partition = Exercise(
    every_token.log_partition,
    _batches,
    right="Right: the sum over all paths, without writing them out.",
    observe=_stable,
    kept=("log_partition",),
    slips=[
        (MAX, "logsumexp(1) => amax(1)"),
        (MAX, f"{LONGER} => (total[:, :, None] + steps).amax(1)"),
        (
            "you sum over the labels that come next; sum over those before (dim 1 of B, N, N).",
            f"{LONGER} => (total[:, :, None] + steps).logsumexp(2)",
        ),
        *(
            ("padding is counted: keep the total where the mask is False.", f"{WHERE} => {total}")
            for total in ("longer", "longer * mask[:, word, None]")
        ),
        (START, "start + logits => logits"),
        (END, "(total + end) => total"),
        (TURNED, "+ steps) => + steps.T)"),
        (STEPS, " + steps) => + 0 * steps)"),
        ("the logits of the later words are missing.", f"{LONGER} + logits[:, word] => {LONGER}"),
        (
            "large scores give inf: use logsumexp, not the log of a sum of exp.",
            f"{LONGER} => (total[:, :, None] + steps).exp().sum(1).log()",
        ),
        ("this is the sum itself: return its logarithm.", "(total + end).logsumexp(1) => (total + end).exp().sum(1)"),
        ("return one number for each sentence, (B,).", "+ end).logsumexp(1) => + end).logsumexp(1).sum()"),
        (
            "the loss needs a gradient: no .item(), .detach() or torch.no_grad() here.",
            "+ end).logsumexp(1) => + end).logsumexp(1).detach()",
        ),
    ],
)


def _path(fn, logits, mask, *scores) -> dict[str, Any]:
    found = value(fn, logits, mask, *scores)
    path = found["result"]
    expect(isinstance(path, Tensor), "return a tensor: the number of a label for each word, (B, W).")
    expect(path.shape == mask.shape, f"there are {tuple(mask.shape)} words; your result has {tuple(path.shape)}.")
    expect(not path.is_floating_point(), "return labels, whole numbers: argmax says which one, max how high.")
    return found | {"result": [row[real].tolist() for row, real in zip(path, mask, strict=True)]}


def _greedy(logits, mask, start, steps, end):
    path = [(start + logits[:, 0]).argmax(1)]
    for word in range(1, logits.size(1)):
        path.append((steps[path[-1]] + logits[:, word]).argmax(1))
    return torch.stack(path, 1)


def _best_so_far(logits, mask, start, steps, end):
    best = [start + logits[:, 0]]
    for word in range(1, logits.size(1)):
        best.append((best[-1][:, :, None] + steps).amax(1) + logits[:, word])
    return torch.stack(best, 1).argmax(-1)


def _turned(logits, mask, *scores):
    rows = zip(every_token.viterbi(logits, mask, *scores), mask, strict=True)
    return torch.stack([torch.cat([row[real].flip(0), row[~real]]) for row, real in rows])


PATH = "torch.cat(path[::-1], 1)"
REAL = "pointers.append(torch.where(real, before, stay))"
OFF = "the backpointers are off by one: those made at a word lead from that word to the one before it."
BACKWARDS = "the path is the wrong way round: you walk it backwards."

check_viterbi = Exercise(
    every_token.viterbi,
    lambda: [*_batches_and_a_word(), sentences(*[5] * 12)],  # the last words decide in some of twelve long sentences
    right="Right: the best of all paths.",
    observe=_path,
    kept=("viterbi",),
    slips=[
        (
            "these are the likeliest labels word by word: the steps between them count too.",
            f"{PATH} => logits.argmax(-1)",
        ),
        ("each label is the best behind the one chosen before: greedy. Keep all labels open.", _greedy),
        ("the best label so far at each word is no path: follow the backpointers from the end.", _best_so_far),
        (BACKWARDS, f"{PATH} => torch.cat(path, 1)"),
        (BACKWARDS, _turned),
        (OFF, "reversed(pointers) => reversed([*pointers[1:], *pointers[-1:]])"),
        (OFF, "reversed(pointers) => reversed([*pointers[:1], *pointers[:-1]])"),
        (
            "the backpointers of padding count: where the mask is False, each label is its own.",
            f"{REAL} => pointers.append(before)",
        ),
        (
            "padding is counted: where the mask is False keep the scores.",
            "torch.where(real, score + logits[:, word], best) => score + logits[:, word]",
        ),
        (
            "padding is counted: where the mask is False keep the scores, and stay.",
            "real = mask[:, word, None] => real = torch.ones_like(mask[:, word, None])",
        ),
        (START, "start + logits => logits"),
        (END, "(best + end) => best"),
        (TURNED, "+ steps).max => + steps.T).max"),
        (STEPS, "+ steps).max => + 0 * steps).max"),
        ("the path is off by one: the label of the first word is missing.", f"{PATH} => {PATH}.roll(-1, 1)"),
        ("the path is off by one: everything stands one word too late.", f"{PATH} => {PATH}.roll(1, 1)"),
        ("return labels, whole numbers: argmax says which one, max how high.", f"{PATH} => {PATH}.float()"),
    ],
)


def marginals(logits, mask, start, steps, end):
    logits = logits.detach().requires_grad_()
    return torch.autograd.grad(log_partition(logits, mask, start, steps, end).sum(), logits)[0]


def _of_words(fn, logits, mask, *scores) -> dict[str, Any]:
    found = value(fn, logits, mask, *scores)
    result = found["result"]
    expect(isinstance(result, Tensor) and result.shape == logits.shape, f"return {tuple(logits.shape)}: B, W, N.")
    return found | {"result": result[mask], "the logits that were given need no gradient": not logits.requires_grad}


def _best_alone(logits, mask, *scores):
    return torch.nn.functional.one_hot(every_token.viterbi(logits, mask, *scores), logits.size(-1)).float()


def _prefixes(logits, mask, start, steps, end):
    total = [start + logits[:, 0]]
    for word in range(1, logits.size(1)):
        total.append((total[-1][:, :, None] + steps).logsumexp(1) + logits[:, word])
    return torch.stack(total, 1).softmax(-1)


GRADIENT = "torch.autograd.grad(log_partition(logits, mask, start, steps, end).sum(), logits)[0]"

check_marginals = Exercise(
    marginals,
    _batches_and_a_word,
    right="Right: how sure the CRF is of each word.",
    observe=_of_words,
    slips=[
        ("these are logarithms: return probabilities.", f"{GRADIENT} => {GRADIENT}.log()"),
        (
            "this is the softmax of each word by itself: no step between labels counts.",
            f"{GRADIENT} => logits.detach().softmax(-1)",
        ),
        ("this is the best path alone: every path counts, by its probability.", _best_alone),
        (
            "padding is counted: it may not change the words before it.",
            "partition(logits, mask, => partition(logits, torch.ones_like(mask),",
        ),
        (
            "work on a copy: the logits that you were given need a gradient from now on.",
            "logits.detach().requires_grad_() => logits.requires_grad_()",
        ),
        ("only the words before are counted: what comes behind a word matters too.", _prefixes),
        (START, "mask, start, steps, end).sum => mask, 0 * start, steps, end).sum"),
        (END, "steps, end).sum => steps, 0 * end).sum"),
        (TURNED, "start, steps, end).sum => start, steps.T, end).sum"),
        ("take the sum of log_partition over the sentences, not the mean.", ".sum(), logits => .mean(), logits"),
    ],
)


def _crf(cls, names, logits, labels, mask) -> dict[str, Any]:
    runs = {DECODED: (logits, mask), "loss": (logits, labels, mask)}
    return module(on_words(cls), (names,), runs)


def _crfs() -> list[tuple]:
    first = torch.tensor([[1, 2, 0, 5, 6], [3, 4, 4, -100, -100], [0, -100, -100, -100, -100]])
    return [
        (NAMES, random_tensor(3, 5, 7, seed=9), first, first >= 0),
        (NAMES, random_tensor(1, 2, 7, seed=7), torch.tensor([[0, 6]]), torch.ones(1, 2).bool()),  # not allowed by BIO
        (["B-pet", "I-pet", "O"], random_tensor(1, 2, 3, seed=8), torch.tensor([[0, 1]]), torch.ones(1, 2).bool()),
    ]


FIRST, STEP = ".masked_fill(self.forbidden[0], -1e4)", ".masked_fill(self.forbidden[1:], -1e4)"

check_crf = Exercise(
    every_token.CRF,
    _crfs,
    right="Right: the loss and the paths of the library.",
    observe=_crf,
    kept=("CRF",),
    slips=[
        ("the loss is the mean over the words, not over the sentences.", ".sum() / mask.sum() => .mean()"),
        ("the loss is the mean over the words, not the sum.", ".sum() / mask.sum() => .sum()"),
        (
            "the loss is minus the logarithm of P: the sum over all paths minus the right path.",
            "return (log => return -(log",
        ),
        ("what BIO forbids counts: -10,000 for such a step.", f"{STEP} => "),
        ("what BIO forbids counts: -10,000 for a first label that may not follow O.", f"{FIRST} => "),
        ("what BIO forbids counts: -10,000 for such a step or first label.", f"{STEP} => ", f"{FIRST} => "),
        (
            "what BIO forbids is -10,000, not -inf: a label of the data that breaks the rules would make the loss inf.",
            "-1e4) => -torch.inf)",
        ),
        ("what BIO forbids is -10,000: a smaller number may be made up for by logits.", "-1e4) => -100.0)"),
        (TURNED, "forbidden[1:], => forbidden[1:].T,"),
        ("decode takes the best path, not each word's likeliest label.", "viterbi( => (lambda x, *_: x.argmax(-1))("),
        ("the steps learn nothing: no detach and no no_grad.", "transitions.masked => transitions.detach().masked"),
    ],
    spared={"return viterbi": "nothing is learned through the best path"},
)

check_crf_tagger = Exercise(
    every_token.BertWithCRF,
    lambda: tagger_cases(NAMES[:3]),
    right="Right: the loss and the labels of the library.",
    observe=tagger,
    kept=("BertWithCRF",),
    slips=[
        (
            "the loss is that of the labels one by one: take the CRF's.",
            "self.crf.loss(*self.words(batch)) => super().loss(batch)",
        ),
        ("decode takes each word's likeliest label: the CRF gives the likeliest path.", "self.crf.dec => super().dec"),
    ],
)
