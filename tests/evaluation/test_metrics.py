"""Measures: a model that cheats gets everything, one that guesses gets what guessing gives."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from bertlab.corpora.storyworld import Probe
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.evaluation.measures import evaluate_pretraining, evaluate_probes


class Cheat:
    """Knows the labels it is given: stands for the best possible model."""

    def __init__(self, vocab_size):
        self.vocab_size = vocab_size
        self.calls = []

    def eval(self):
        return self

    def parameters(self):
        return iter([torch.zeros(1)])

    def __call__(self, input_ids, labels, next_sentence_label, masked_only, **_):
        wanted = labels[labels != -100]
        self.calls.append((input_ids, labels))
        return SimpleNamespace(
            prediction_logits=self.guess(wanted),
            masked_labels=wanted,
            seq_relationship_logits=self.next(next_sentence_label),
        )

    @property
    def masked(self):
        """Inputs and labels of the masked batches; every second call shows the text as it is."""
        return self.calls[::2]

    def guess(self, wanted):
        return 50.0 * F.one_hot(wanted, self.vocab_size)

    def next(self, label):
        return 50.0 * F.one_hot(label, 2)


class Constant(Cheat):
    """Says word frequencies everywhere, and always IsNext."""

    def __init__(self, probabilities):
        super().__init__(len(probabilities))
        self.logs = probabilities.log()

    def guess(self, wanted):
        return self.logs.expand(len(wanted), -1)

    def next(self, label):
        return torch.tensor([1.0, 0.0]).expand(len(label), 2)


@pytest.fixture
def baselines(documents, tok):
    return NeighbourBaselines(documents, tok.vocab_size, tok.all_special_ids)


def test_a_cheating_model_is_always_right(documents, tok):
    found = evaluate_pretraining(Cheat(tok.vocab_size), tok, documents, max_tokens=64)
    assert found["masked_top1"] == 1.0 and found["nsp_accuracy"] == 1.0
    assert found["masked_loss"] == pytest.approx(0, abs=1e-4)
    assert not [name for name in found if "gram" in name]


def test_a_constant_model_is_the_unigram(documents, tok, baselines):
    found = evaluate_pretraining(Constant(baselines.unigram), tok, documents, baselines, max_tokens=64)
    assert found["masked_top1"] == pytest.approx(found["unigram_top1"])
    assert found["masked_loss"] == pytest.approx(found["unigram_loss"], rel=1e-5)
    assert found["nsp_accuracy"] == pytest.approx(0.5, abs=0.02)  # as many negatives as positives
    assert 0 < found["unigram_top1"] < found["bigram_top1"] < 1
    assert found["bigram_loss"] < found["unigram_loss"]


def test_intervals_draw_pairs_because_words_of_a_pair_are_alike(documents, tok):
    class Halves(Cheat):
        """Right on all words of every second pair, and on none of the others."""

        def __call__(self, input_ids, labels, next_sentence_label, masked_only, **batch):
            out = super().__call__(input_ids, labels, next_sentence_label, masked_only, **batch)
            row = (labels != -100).nonzero()[:, 0]
            out.prediction_logits = out.prediction_logits * (row % 2 == 0)[:, None] - 50.0 * (row % 2)[:, None]
            return out

    found = evaluate_pretraining(Halves(tok.vocab_size), tok, documents, max_tokens=64)
    assert found["masked_top1_low"] < found["masked_top1"] < found["masked_top1_high"]
    assert found["masked_loss_low"] < found["masked_loss"] < found["masked_loss_high"]
    width = found["masked_top1_high"] - found["masked_top1_low"]
    pairs, words = ((0.25 / found[name]) ** 0.5 for name in ("pairs", "masked_tokens"))
    assert 0.8 < width / (2 * 1.96 * pairs) < 1.4 and width > 2 * (2 * 1.96 * words)
    assert found["nsp_accuracy_low"] == found["nsp_accuracy_high"] == 1.0  # all right: no width


def test_next_sentences_are_judged_on_the_text_as_it_is_too(documents, tok):
    class Reader(Cheat):
        """Right on next sentences only where nothing is hidden."""

        def __call__(self, input_ids, labels, next_sentence_label, masked_only, **batch):
            hidden = ((labels != -100) & (input_ids != labels)).any()
            return super().__call__(input_ids, labels, next_sentence_label ^ int(hidden), masked_only, **batch)

    model = Reader(tok.vocab_size)
    found = evaluate_pretraining(model, tok, documents, max_tokens=64)
    assert (found["nsp_accuracy"], found["nsp_accuracy_masked"]) == (1.0, 0.0)
    for (hidden, labels), (intact, _) in zip(model.masked, model.calls[1::2], strict=True):
        assert torch.equal(intact[labels != -100], labels[labels != -100])
        assert torch.equal(intact[labels == -100], hidden[labels == -100])


def test_unigram_top1_is_the_share_of_the_most_frequent_word(documents, tok, baselines):
    model = Cheat(tok.vocab_size)
    found = evaluate_pretraining(model, tok, documents, baselines, max_tokens=64)
    asked = torch.cat([labels[labels != -100] for _, labels in model.masked])
    share = float((asked == int(baselines.unigram.argmax())).float().mean())
    assert found["unigram_top1"] == pytest.approx(share) and found["masked_tokens"] == len(asked)
    assert found["unigram_loss"] == pytest.approx(float(-baselines.unigram.log()[asked].mean()), rel=1e-5)


def test_bigram_sees_what_the_model_sees(documents, tok, baselines):
    """The neighbours as they stand in the masked input: recomputed position by position."""
    model = Cheat(tok.vocab_size)
    found = evaluate_pretraining(model, tok, documents, baselines, max_tokens=64, pairs=12)
    losses = []
    for ids, labels in model.masked:
        for row, place in (labels != -100).nonzero().tolist():
            logs = baselines.bigram_log_probabilities(ids[row, place - 1][None], ids[row, place + 1][None])[0]
            losses.append(-float(logs[labels[row, place]]))
    assert found["bigram_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-4)


def test_masks_are_those_of_the_paper_and_the_seed_is_all(documents, tok):
    def masked(**options):
        model = Cheat(tok.vocab_size)
        found = evaluate_pretraining(model, tok, documents, max_tokens=256, **options)
        return found, model.masked[0][0]

    (found, first), (_, again), (_, other) = masked(), masked(), masked(seed=1)
    assert torch.equal(first, again) and first.shape != other.shape or not torch.equal(first, other)
    ordinary = sum(len(s) for d in documents for s in d)
    assert found["masked_tokens"] / ordinary == pytest.approx(0.15, abs=0.03)
    few, _ = masked(pairs=10)
    assert few["pairs"] == 10 < found["pairs"]


class Filler:
    """Gives the words of a list to the masks, in order; `second` comes close behind."""

    def __init__(self, tok, words, second=None):
        self.words = tok.convert_tokens_to_ids(words)
        self.second = tok.convert_tokens_to_ids(second or words)
        self.tok, self.at = tok, 0

    def eval(self):
        return self

    def parameters(self):
        return iter([torch.zeros(1)])

    def __call__(self, input_ids, **_):
        logits = torch.zeros(*input_ids.shape, self.tok.vocab_size)
        for row in range(len(input_ids)):
            gap = int((input_ids[row] == self.tok.mask_token_id).nonzero())
            logits[row, gap, self.second[self.at]] = 1.0
            logits[row, gap, self.words[self.at]] = 2.0
            self.at += 1
        return SimpleNamespace(prediction_logits=logits)


def test_probes_first_guess_and_choice_of_two(tok):
    answers = ["a", "b", "c", "d"] * 15  # more than one batch
    texts = [" ".join("e" * (i % 5)) + " [MASK] f" for i in range(60)]
    families = ["one", "two"] * 30
    probes = [Probe(t, a, "g", f) for t, a, f in zip(texts, answers, families, strict=True)]
    assert set(evaluate_probes(Filler(tok, answers), tok, probes).values()) == {1.0}
    foiled = evaluate_probes(Filler(tok, ["g"] * 60, answers), tok, probes)
    assert set(foiled.values()) == {0.0}
    # "h" is neither: a wrong first guess, but the right one of the two
    near = evaluate_probes(Filler(tok, ["h"] * 60, answers), tok, probes)
    assert near["probes"] == near["probes_one"] == 0.0 and near["probes_pair"] == near["probes_two_pair"] == 1.0
    half = evaluate_probes(Filler(tok, [a if i % 2 else "h" for i, a in enumerate(answers)]), tok, probes)
    assert (half["probes"], half["probes_one"], half["probes_two"]) == (0.5, 0.0, 1.0)
