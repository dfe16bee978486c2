"""The checkers of labels of words and of the CRF: right answers pass, the mistake of each known wrong one is named."""

import re

import pytest
import torch
from torch import nn

from bertlab.course import (
    Mistake,
    check_align,
    check_crf,
    check_crf_tagger,
    check_entities,
    check_log_partition,
    check_marginals,
    check_may_follow,
    check_path_score,
    check_tagging,
    check_token_classifier,
    check_viterbi,
)
from bertlab.course.solutions import every_token as solved
from tests.course.checks.checking import checker_tests

# Names


def entities(labels):
    found, start = [], None
    for word, label in enumerate([*labels, "O"]):
        goes_on = start is not None and label == f"I-{labels[start][2:]}"
        if start is not None and not goes_on:
            found.append((labels[start][2:], start, word - 1))
            start = None
        if label != "O" and not goes_on:
            start = word
    return found


def from_the_last(labels):
    found = []
    for word, label in enumerate(labels):
        if label[0] == "I":
            found[-1] = (found[-1][0], found[-1][1], word)
        elif label[0] == "B":
            found.append((label[2:], word, word))
    return found


def exclusive(labels):
    return [(kind, first, last + 1) for kind, first, last in entities(labels)]


def never_closed(labels):
    return [name for name in entities(labels) if name[2] < len(labels) - 1 or len(labels) == 1 or name[1] == name[2]]


def strict(labels):
    return [name for name in entities(labels) if labels[name[1]][0] == "B"]


def one_word(labels):
    return [(label[2:], word, word) for word, label in enumerate(labels) if label != "O"]


def merged(labels):
    """Every run of labels that are not O is one name."""
    same = [
        label if label == "O" or not word or labels[word - 1] == "O" else f"I-{label[2:]}"
        for word, label in enumerate(labels)
    ]
    return entities(same)


def any_kind(labels):
    found = []
    for word, label in enumerate(labels):
        if label[0] == "I" and found and found[-1][2] == word - 1:
            found[-1] = (found[-1][0], found[-1][1], word)
        elif label != "O":
            found.append((label[2:], word, word))
    return found


def over_gaps(labels):
    found = []
    for word, label in enumerate(labels):
        if label[0] == "I" and found and found[-1][0] == label[2:]:
            found[-1] = (found[-1][0], found[-1][1], word)
        elif label != "O":
            found.append((label[2:], word, word))
    return found


# Labels at first pieces


def align(words, labels, tokenizer):
    pieces = [tokenizer.ids(word) or [tokenizer.vocabulary["[UNK]"]] for word in words]
    ids = [number for word in pieces for number in word]
    row = [label if i == 0 else -100 for word, label in zip(pieces, labels, strict=True) for i in range(len(word))]
    return [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id], [-100, *row, -100]


def aligned(change):
    """A slip that changes the right labels: change(row, labels of the words, pieces of each word) -> row."""

    def wrong(words, labels, tokenizer):
        ids, row = align(words, labels, tokenizer)
        sizes = [len(tokenizer.ids(word)) for word in words]
        return ids, change(row, labels, sizes)

    return wrong


def at_every_piece(row, labels, sizes):
    return [-100, *(label for label, size in zip(labels, sizes, strict=True) for _ in range(size)), -100]


def at_last_piece(row, labels, sizes):
    parts = ([-100] * (size - 1) + [label] for label, size in zip(labels, sizes, strict=True))
    return [-100, *(label for part in parts for label in part), -100]


def bare(words, labels, tokenizer):
    ids, row = align(words, labels, tokenizer)
    return ids[1:-1], row[1:-1]


def without_unknown(words, labels, tokenizer):
    pairs = [(word, label) for word, label in zip(words, labels, strict=True) if tokenizer.ids(word)]
    return align([word for word, _ in pairs], [label for _, label in pairs], tokenizer)


# What BIO allows


def may_follow(before, after):
    if after[0] != "I":
        return True
    return before != "O" and before[2:] == after[2:]


# The CRF: `slip` names what is done wrong


def forward(logits, mask, start, steps, end, slip=""):
    over = (lambda x, d: x.amax(d)) if slip.startswith("max") else torch.logsumexp
    total = (0 if slip == "start" else start) + logits[:, 0]
    for word in range(1, logits.size(1)):
        dim = 2 if slip == "next" else 1
        longer = over(total[:, :, None] + (steps.T if slip == "turned" else steps), dim) + logits[:, word]
        total = longer if slip == "mask" else torch.where(mask[:, word, None], longer, total)
    return (torch.logsumexp if slip == "max inside" else over)(total if slip == "end" else total + end, 1)


def summed(logits, mask, start, steps, end):
    total = (start + logits[:, 0]).exp()
    for word in range(1, logits.size(1)):
        total = torch.where(mask[:, word, None], (total @ steps.exp()) * logits[:, word].exp(), total)
    return (total @ end.exp()).log()


def forward_slip(slip):
    return lambda *given: forward(*given, slip=slip)


def best_path(logits, mask, start, steps, end, slip=""):
    best, pointers = start + logits[:, 0], []
    stay = torch.arange(len(start)).expand_as(best)
    for word in range(1, logits.size(1)):
        score, before = (best[:, :, None] + steps).max(1)
        real = mask[:, word, None] | (slip == "mask")
        best = torch.where(real, score + logits[:, word], best)
        pointers.append(torch.where(real | (slip == "padding"), before, stay))
    label = (best if slip == "end" else best + end).argmax(1)
    path = [label]
    if slip == "pointers":
        pointers = [*pointers[1:], pointers[-1]]
    for pointer in pointers[::-1]:
        label = pointer[torch.arange(len(label)), label]
        path.append(label)
    return torch.stack(path if slip == "order" else path[::-1], 1)


def path_slip(slip):
    return lambda *given: best_path(*given, slip=slip)


def greedy(logits, mask, start, steps, end):
    path = [(start + logits[:, 0]).argmax(1)]
    for word in range(1, logits.size(1)):
        path.append((steps[path[-1]] + logits[:, word]).argmax(1))
    return torch.stack(path, 1)


def marginals(logits, mask, start, steps, end, slip=""):
    """From both sides: the forward totals, and the same backwards."""
    ahead, behind = [start + logits[:, 0]], [end.expand(len(logits), -1)]
    for word in range(1, logits.size(1)):
        longer = (ahead[-1][:, :, None] + steps).logsumexp(1) + logits[:, word]
        ahead.append(torch.where(mask[:, word, None], longer, ahead[-1]))
    for word in reversed(range(1, logits.size(1))):
        longer = (steps + (logits[:, word] + behind[0])[:, None, :]).logsumexp(2)
        behind.insert(0, torch.where(mask[:, word, None], longer, behind[0]))
    total = torch.stack(ahead, 1) if slip == "ahead" else torch.stack(ahead, 1) + torch.stack(behind, 1)
    return total.log_softmax(-1) if slip == "log" else total.softmax(-1)


def by_gradient(logits, mask, start, steps, end):
    logits = logits.clone().requires_grad_()
    return torch.autograd.grad(solved.log_partition(logits, mask, start, steps, end).sum(), logits)[0]


def best_alone(logits, mask, *scores):
    return nn.functional.one_hot(best_path(logits, mask, *scores), logits.size(-1)).float()


class AllPositions(solved.BertForTokenClassification):
    def loss(self, batch):
        logits = self(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].clamp(min=0).flatten())


class Pooled(solved.BertForTokenClassification):
    def forward(self, *inputs):
        return self.classifier(self.bert(*inputs)[1])


class OtherName(solved.BertForTokenClassification):
    def __init__(self, config, num_labels):
        super().__init__(config, num_labels)
        self.head = self.classifier
        del self.classifier


class Unruly(solved.CRF):
    def scores(self):
        return self.start, self.transitions, self.end


class PerSentence(solved.CRF):
    def loss(self, logits, labels, mask):
        return super().loss(logits, labels, mask) * mask.sum() / len(mask)


class Greedy(solved.BertWithCRF):
    def decode(self, logits, mask):
        return 0 * logits.argmax(-1)


class Linear(solved.BertWithCRF):
    def loss(self, batch):
        return solved.BertForTokenClassification.loss(self, batch)


def score_slip(padding):
    def score(logits, labels, mask, start, steps, end):
        return solved.path_score(logits, labels, torch.ones_like(mask) if padding else mask, 0 * start, steps, end)

    return score


RIGHT = {
    check_entities: entities,
    check_align: align,
    check_may_follow: may_follow,
    check_token_classifier: solved.BertForTokenClassification,
    check_crf_tagger: solved.BertWithCRF,
    check_path_score: solved.path_score,
    check_log_partition: forward,
    check_viterbi: best_path,
    check_marginals: marginals,
    check_crf: solved.CRF,
}
MISTAKES = {
    check_entities: {
        "begins and ends at that word": exclusive,
        "with its last word": one_word,
        "at the end of the sentence": never_closed,
        "each B- begins a new one": merged,
        "begins with I- is lost": strict,
        "of another kind continues nothing": any_kind,
        "an O ends a name": over_gaps,
        "not B-pet": lambda labels: [(f"B-{kind}", first, last) for kind, first, last in entities(labels)],
        "your code stopped on ['O', 'I-pet', 'I-pet']: list index": from_the_last,
        "return an empty list": lambda labels: None if set(labels) == {"O"} else entities(labels),
    },
    check_align: {
        "every piece has the label": aligned(at_every_piece),
        "at the last piece": aligned(at_last_piece),
        "are shifted: [CLS]": aligned(lambda row, labels, sizes: row[1:-1]),
        "shifted by [CLS]": aligned(lambda row, labels, sizes: [*row[1:-1], -100, -100]),
        "get -100, which means not asked": aligned(lambda row, labels, sizes: [max(label, 0) for label in row]),
        "[CLS] and [SEP] have a label": aligned(lambda row, labels, sizes: [0, *row[1:-1], 0]),
        "the label 0 is lost": aligned(lambda row, labels, sizes: [label or -100 for label in row]),
        "[CLS] and [SEP] are missing": bare,
        "becomes [UNK]": without_unknown,
        "return two lists": lambda words, labels, tokenizer: align(words, labels, tokenizer)[0],
    },
    check_may_follow: {
        "behind O there is none": lambda before, after: after[0] != "I" or before == "O" or before[2:] == after[2:],
        "cannot continue a person": lambda before, after: after[0] != "I" or before != "O",
        "whatever its prefix": lambda before, after: may_follow(before, after) or (before[0] == after[0] == "I"),
        "a name may have three words": lambda before, after: after[0] != "I" or before == f"B-{after[2:]}",
        "right behind another": lambda before, after: may_follow(before, after) and not (before[0] == after[0] == "B"),
        "a name may have one word": lambda before, after: (
            may_follow(before, after) and (before[0], after) != ("B", "O")
        ),
    },
    check_token_classifier: {
        "the mean over the words": AllPositions,
        "returns the logits (B, S, N)": Pooled,
        "not those of the library": OtherName,
    },
    check_crf_tagger: {
        "the loss should be": Linear,
        "likeliest path": Greedy,
        "your code stopped": lambda config, names: solved.BertWithCRF(config),
    },
    check_path_score: {
        "the scores of the first labels": score_slip(padding=False),
        "return one score": lambda logits, *others: logits.sum(-1),
        "padding is counted": lambda logits, labels, mask, *scores: solved.path_score(
            logits, labels, torch.ones_like(mask), *scores
        ),
    },
    check_log_partition: {
        "do not take the max": forward_slip("max"),
        "the best path is followed": forward_slip("max inside"),
        "padding is counted": forward_slip("mask"),
        "(end) are missing": forward_slip("end"),
        "(start) are missing": forward_slip("start"),
        "row = from, column = to": forward_slip("turned"),
        "labels that come next": forward_slip("next"),
        "large scores give": summed,
        "return its logarithm": lambda *given: forward(*given).exp(),
        "needs a gradient": lambda *given: forward(*given).detach(),
        "one number a sentence": lambda *given: forward(*given).sum(),
    },
    check_viterbi: {
        "word by word": lambda logits, *others: logits.argmax(-1),
        "greedy": greedy,
        "the wrong way round": lambda logits, mask, *scores: torch.stack(
            [torch.cat([p[m].flip(0), p[~m]]) for p, m in zip(best_path(logits, mask, *scores), mask, strict=True)]
        ),
        "backpointers are off by one": path_slip("pointers"),
        "backpointers of padding count": path_slip("padding"),
        "you walk it backwards": path_slip("order"),
        "a sentence of 4 words should be": lambda *given: best_path(*given).index_fill(0, torch.tensor(1), 2),
        "padding is counted": path_slip("mask"),
        "(end) are missing": path_slip("end"),
        "the label of the first word is missing": lambda *given: best_path(*given).roll(-1, 1),
        "one word too late": lambda *given: best_path(*given).roll(1, 1),
        "return labels, whole numbers": lambda *given: best_path(*given).float(),
        "row = from": lambda logits, mask, start, steps, end: best_path(logits, mask, start, steps.T, end),
        "your result is": lambda *given: best_path(*given)[:, 1:],
    },
    check_marginals: {
        "each word by itself": lambda logits, *others: logits.softmax(-1),
        "only the words before": lambda *given: marginals(*given, slip="ahead"),
        "these are logarithms": lambda *given: marginals(*given, slip="log"),
        "the best path alone": best_alone,
        "padding is counted": lambda logits, mask, *scores: marginals(logits, torch.ones_like(mask), *scores),
        "(end) are missing": lambda logits, mask, start, steps, end: marginals(logits, mask, start, steps, 0 * end),
    },
    check_crf: {
        "a mean over the words": PerSentence,
        "the loss should be": Unruly,  # forbidden paths count
        "the parameters should be": lambda names: nn.Linear(2, 2),
    },
}
test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)


def test_marginals_by_the_gradient_are_right_too(capsys):
    check_marginals(by_gradient)
    assert capsys.readouterr().out.startswith("Right")


def test_batches_and_tags(capsys):
    check_tagging(solved.word_inputs, solved.tag)
    assert capsys.readouterr().out.startswith("Right")


def without_limit(examples, tokenizer, max_tokens):
    return solved.word_inputs(examples, tokenizer)


def without_sep(examples, tokenizer, max_tokens):
    batch = solved.word_inputs(examples, tokenizer)
    return {name: tensor[:, :max_tokens] for name, tensor in batch.items()}


def zeros_behind(examples, tokenizer, max_tokens):
    batch = solved.word_inputs(examples, tokenizer, max_tokens)
    return batch | {"labels": batch["labels"].clamp(min=0)}


WRONG_BATCHES = {"should be (2, 8)": without_limit, "still ends with [SEP]": without_sep, "has -100": zeros_behind}


@pytest.mark.parametrize("words", WRONG_BATCHES)
def test_a_wrong_batch_is_found(words):
    with pytest.raises(Mistake, match=re.escape(words)):
        check_tagging(WRONG_BATCHES[words], solved.tag)


def test_a_wrong_tag_is_found():
    with pytest.raises(Mistake, match="one label for each word"):
        check_tagging(solved.word_inputs, lambda *given: solved.tag(*given)[:-1])
