"""The checkers of chapter 10 pass right answers and name the mistake of each known wrong one."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course import (
    Mistake,
    check_choice_rows,
    check_fuse,
    check_hypothesis_only,
    check_in_batch_loss,
    check_mean_pool,
    check_multiple_choice,
    check_recall_at,
    check_sentence_encoder,
)
from bertlab.course.solutions import two_sentences as solution
from tests.course.checks.checking import checker_tests


def other_pool(states, mask):
    return torch.stack([row[real.bool()].mean(0) for row, real in zip(states, mask, strict=True)])


def other_loss(first, second, scale=20.0):
    cosines = F.cosine_similarity(first[:, None], second[None], dim=-1)
    return -(scale * cosines).log_softmax(-1).diag().mean()


def other_rows(tokenizer, texts, choices, max_tokens=128):
    blocks = [solution.inputs(tokenizer, [t] * len(c), c, max_tokens) for t, c in zip(texts, choices, strict=True)]
    longest = max(block["input_ids"].size(1) for block in blocks)
    return {
        name: torch.stack([F.pad(block[name], (0, longest - block[name].size(1))) for block in blocks])
        for name in blocks[0]
    }


def right_recall(similarity, right, k):
    return (similarity.topk(k, dim=1).indices == right[:, None]).any(1).float().mean()


def other_recall(similarity, right, k):
    own = similarity[torch.arange(len(right)), right]
    return ((similarity > own[:, None]).sum(1) < k).float().mean().item()


def right_fuse(lists):
    return sum(1 / (60 + (-scores).argsort().argsort() + 1) for scores in lists)


def other_fuse(lists):
    return np.array([sum(1 / (60 + 1 + (scores > scores[n]).sum()) for scores in lists) for n in range(len(lists[0]))])


def alone(example):
    return replace(example, text=example.pair, pair=None)


def flat(tokenizer, texts, choices, max_tokens=128):
    rows = solution.choice_rows(tokenizer, texts, choices, max_tokens)
    return {name: row.flatten(0, 1) for name, row in rows.items()}


def wrong_rows(first, second):
    """Rows of other texts than the right ones, in the right shape."""

    def rows(tokenizer, texts, choices, max_tokens=128):
        options = [option for choice in choices for option in choice]
        made = solution.inputs(tokenizer, first(texts, options), second(texts, options), max_tokens)
        return {name: row.view(len(texts), -1, row.size(1)) for name, row in made.items()}

    return rows


class OneClassifier(solution.BertForMultipleChoice):
    def forward(self, *inputs):
        return super().forward(*inputs).softmax(-1)


class Turned(solution.BertForMultipleChoice):
    def forward(self, *inputs):
        return super().forward(*inputs).flip(1)


class Flat(solution.BertForMultipleChoice):
    def forward(self, *inputs):
        return super().forward(*inputs).flatten()


class FirstToken(solution.SentenceEncoder):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.bert(input_ids, attention_mask, token_type_ids)[0][:, 0]


class OneSide(solution.SentenceEncoder):
    def loss(self, batch):
        return solution.in_batch_loss(self(**batch["first"]), self(**batch["first"]))


class NoLoss(solution.SentenceEncoder):
    def loss(self, batch):
        return self(batch["first"])


RIGHT = {
    check_mean_pool: other_pool,
    check_in_batch_loss: other_loss,
    check_sentence_encoder: solution.SentenceEncoder,
    check_choice_rows: other_rows,
    check_multiple_choice: solution.BertForMultipleChoice,
    check_hypothesis_only: alone,
    check_recall_at: other_recall,
    check_fuse: other_fuse,
}
SOLUTIONS = {
    check_mean_pool: solution.mean_pool,
    check_in_batch_loss: solution.in_batch_loss,
    check_choice_rows: solution.choice_rows,
    check_recall_at: right_recall,
    check_fuse: right_fuse,
}


def logits(first, second, scale=20.0):
    return scale * F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T


MISTAKES = {
    check_mean_pool: {
        "padding is in your mean": lambda x, mask: x.mean(1),
        "this is the sum": lambda x, mask: (x * mask[:, :, None]).sum(1),
        "you divide by the length of the row": lambda x, mask: (x * mask[:, :, None]).mean(1),
        "state of [CLS] alone": lambda x, mask: x[:, 0],
        "maximum of each feature": lambda x, mask: x.amax(1),
        "tokens of the whole batch": lambda x, mask: (x * mask[:, :, None]).sum(1) / mask.sum(),
        "return the mean as it is": lambda x, mask: F.normalize(other_pool(x, mask), dim=-1),
        "the mean runs over S": lambda x, mask: x.mean(2),
        "not the mean of the states": lambda x, mask: x[:, -1],
        "your code stopped": lambda x, mask: x * mask,
        "return a tensor": lambda x, mask: [1.0],
    },
    check_in_batch_loss: {
        "vectors must have length 1": lambda a, b, s=20.0: F.cross_entropy(s * a @ b.T, torch.arange(len(a))),
        "scale is missing": lambda a, b, s=20.0: F.cross_entropy(logits(a, b, 1), torch.arange(len(a))),
        "minus the probability": lambda a, b, s=20.0: -logits(a, b, s).softmax(-1).diag().mean(),
        "you divide by it": lambda a, b, s=20.0: F.cross_entropy(logits(a, b, 1 / s), torch.arange(len(a))),
        "each row should be a first text": lambda a, b, s=20.0: other_loss(b, a, s),
        "the sum; return the mean": lambda a, b, s=20.0: len(a) * other_loss(a, b, s),
        "the other texts of the batch are missing": lambda a, b, s=20.0: 1 - F.cosine_similarity(a, b).mean(),
        "return one number": lambda a, b, s=20.0: logits(a, b, s),
        "column i": lambda a, b, s=20.0: F.cross_entropy(logits(a, b, s), torch.zeros(len(a), dtype=torch.long)),
        "without a third argument": lambda a, b, s=1.0: other_loss(a, b, s),
    },
    check_sentence_encoder: {
        "the mean of the tokens": FirstToken,
        "in_batch_loss of the vectors": OneSide,
        "your code stopped": NoLoss,
    },
    check_choice_rows: {
        "(B, C, S)": flat,
        "behind the wrong text": wrong_rows(lambda t, o: t * 3, lambda t, o: o),
        "the text comes first": wrong_rows(lambda t, o: o, lambda t, o: [text for text in t for _ in range(3)]),
        "the text is missing": wrong_rows(lambda t, o: o, lambda t, o: None),
        "questions should come first": lambda *a: {n: r.transpose(0, 1) for n, r in solution.choice_rows(*a).items()},
        "max_tokens has no effect": lambda tok, texts, choices, most=128: solution.choice_rows(tok, texts, choices),
        "token_type_ids do not fit": lambda *a: (
            solution.choice_rows(*a) | {"token_type_ids": solution.choice_rows(*a)["input_ids"] * 0}
        ),
        "return a dict": lambda *a: solution.choice_rows(*a)["input_ids"],
    },
    check_multiple_choice: {
        "return logits": OneClassifier,
        "not one logit for each row": Turned,
        "one for each choice": Flat,
        "not those of the library": lambda config: nn.Linear(2, 2),
    },
    check_hypothesis_only: {
        "the premise is still there": lambda e: e,
        "should be the text now": lambda e: replace(e, text="", pair=None),
        "not a second copy": lambda e: replace(e, text=e.pair),
        "keep the label": lambda e: replace(e, text=e.pair, pair=None, label=None),
        "keep the id": lambda e: replace(alone(e), id=""),
        "return a TextExample": lambda e: e.pair,
    },
    check_recall_at: {
        "that is a count": lambda s, right, k: right_recall(s, right, k) * len(s),
        "not k times": lambda s, right, k: (s.topk(k, dim=1).indices == right[:, None]).float().mean(),
        "that is recall@1": lambda s, right, k: (s.argmax(1) == right).float().mean(),
        "k least similar": lambda s, right, k: right_recall(-s, right, k),
        "not number q": lambda s, right, k: right_recall(s, torch.arange(len(s)), k),
        "return one number": lambda s, right, k: [1],
    },
    check_fuse: {
        "adds the scores": lambda lists: sum(lists),
        "which text is at each rank": lambda lists: sum(1 / (60 + (-s).argsort() + 1) for s in lists),
        "turn it around": lambda lists: sum(1 / (60 + (-s).argsort()) for s in lists),
        "yours is the lowest": lambda lists: sum(1 / (60 + s.argsort().argsort() + 1) for s in lists),
        "ranks begin with 1": lambda lists: sum(1 / (60 + (-s).argsort().argsort()) for s in lists),
        "so that a higher number": lambda lists: sum((-s).argsort().argsort() + 1 for s in lists),
        "not the mean": lambda lists: right_fuse(lists) / 2,
        "one number for each text": lambda lists: 1.0,
    },
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)


@pytest.mark.parametrize("check", SOLUTIONS, ids=lambda check: check.__name__)
def test_solution_passes(check, capsys):
    check(SOLUTIONS[check])
    assert capsys.readouterr().out.startswith("Right")


def test_an_exercise_not_begun_is_called_that():
    def stub(*args):
        raise NotImplementedError

    for check in MISTAKES:
        with pytest.raises(Mistake, match="write your code"):
            check(stub)
