"""Unigram and two-sided bigram against counting by hand."""

import math

import pytest
import torch

from bertlab.training.baselines import NeighbourBaselines

V, SPECIAL = 7, (0, 1)  # [PAD], [MASK] and five words
CORPUS = [[[2, 3, 4], [2, 3, 5]], [[3, 3, 2]], [[6]]]  # documents of sentences
STREAMS = [[2, 3, 4, 2, 3, 5], [3, 3, 2], [6]]  # neighbours do not cross documents


@pytest.fixture
def baselines():
    return NeighbourBaselines(CORPUS, V, SPECIAL)


def unigram(w):
    counts = [sum(s.count(v) for s in STREAMS) + 0.01 for v in range(V)]
    return counts[w] / sum(counts)


def given(context, w, offset):
    """p(w | its neighbour at -offset is `context`), one count spread over the words as the unigram is."""
    if context in SPECIAL:
        return unigram(w)
    pairs = [(s[i - offset], s[i]) for s in STREAMS for i in range(len(s)) if 0 <= i - offset < len(s)]
    total = sum(c == context for c, _ in pairs)
    return (pairs.count((context, w)) + unigram(w)) / (total + 1)


def bigram(before, after):
    scores = [given(before, w, 1) * given(after, w, -1) / unigram(w) for w in range(V)]
    return [score / sum(scores) for score in scores]


def test_unigram(baselines):
    logs = baselines.unigram_log_probabilities(3)
    assert logs.shape == (3, V)
    for row in logs.exp().tolist():
        assert row == pytest.approx([unigram(w) for w in range(V)], rel=1e-5)


def test_bigram_equals_counting(baselines):
    contexts = [(before, after) for before in range(V) for after in range(V)]
    before, after = torch.tensor(contexts).T
    logs = baselines.bigram_log_probabilities(before, after)
    for row, context in zip(logs.exp().tolist(), contexts, strict=True):
        assert row == pytest.approx(bigram(*context), rel=1e-4)


def test_probabilities_sum_to_one(baselines):
    before, after = torch.randint(V, (2, 50), generator=torch.Generator().manual_seed(0))
    for logs in (baselines.bigram_log_probabilities(before, after), baselines.unigram_log_probabilities(50)):
        torch.testing.assert_close(logs.exp().sum(-1), torch.ones(50))
        assert bool(logs.isfinite().all())


@pytest.mark.parametrize("special", SPECIAL)
def test_a_special_neighbour_tells_nothing(special, baselines):
    gap = torch.tensor([special])
    torch.testing.assert_close(
        baselines.bigram_log_probabilities(gap, gap), baselines.unigram_log_probabilities(1), rtol=1e-5, atol=1e-5
    )
    one_side = baselines.bigram_log_probabilities(torch.tensor([2]), gap).exp()[0].tolist()
    assert one_side == pytest.approx([given(2, w, 1) for w in range(V)], rel=1e-4)


def test_special_tokens_in_the_counted_text_tell_nothing_either():
    """[UNK] stands in real text: as a neighbour it is as dumb as [MASK]."""
    baselines = NeighbourBaselines([[[1, 2, 1, 2, 1, 3]]], V, SPECIAL)
    gap = torch.tensor([1])
    torch.testing.assert_close(baselines.bigram_log_probabilities(gap, gap), baselines.unigram_log_probabilities(1))


def test_a_neighbour_never_seen_leaves_the_unigram(baselines):
    """6 is a document of its own: nothing stands beside it."""
    six = torch.tensor([6])
    row = baselines.bigram_log_probabilities(six, six).exp()[0].tolist()
    assert row == pytest.approx([unigram(w) for w in range(V)], rel=1e-4)


def test_both_sides_help():
    """In "2 x 4" only x = 3 fits both neighbours."""
    documents = [[[2, 3, 4]], [[2, 5, 6]], [[6, 5, 4]]] * 20
    baselines = NeighbourBaselines(documents, V, SPECIAL)
    both = baselines.bigram_log_probabilities(torch.tensor([2]), torch.tensor([4])).exp()[0]
    assert int(both.argmax()) == 3
    assert math.isclose(float(both[3] + both[5]), 1, abs_tol=0.1)


def test_order_of_a_batch_does_not_matter(baselines):
    before, after = torch.tensor([5, 2, 5, 3]), torch.tensor([3, 3, 2, 3])
    together = baselines.bigram_log_probabilities(before, after)
    alone = [baselines.bigram_log_probabilities(b[None], a[None])[0] for b, a in zip(before, after, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone))
