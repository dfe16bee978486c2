"""Broken BERT: every bug leaves its mark on the charts of a short training, and no other."""

from dataclasses import replace

import pytest
import torch

from bertlab.course import broken
from bertlab.course.broken import BUGS, Chart, broken_trainings, letters


@pytest.fixture(scope="module")
def charts(tok, texts):
    """Ten steps instead of sixty of every training, on a small vocabulary."""
    ids = [tok.encode_batch(list(sentences)) for sentences in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broken, "RECIPE", replace(broken.RECIPE, steps=10, hidden_size=32, batch_size=8))
        return {5: broken_trainings(ids[:20], ids[20:], tok, seed=5)}


def by_bug(charts) -> dict[str, Chart]:
    return {bug: charts[5][letter] for letter, bug in letters(5).items()}


def differs(chart: Chart, other: list[float]) -> bool:
    return max(abs(a - b) for a, b in zip(chart.held_out, other, strict=True)) > 1e-5


def test_every_bug_leaves_its_mark_and_no_other(charts):
    for bug, chart in by_bug(charts).items():
        assert (chart.loss[0] < 0.5 * chart.held_out[0]) == (bug == "all positions")
        assert (chart.nsp_loss[-1] < 0.3) == (bug == "label 0 lost")
        assert (chart.rate[0] == chart.rate[-1]) == (bug == "schedule overwritten")
        assert differs(chart, chart.again) == (bug == "no eval")
        assert differs(chart, chart.padded) == (bug in ("no eval", "no mask"))


def test_what_every_token_is_asked_for_shows_in_the_loss(charts):
    found = by_bug(charts)
    assert found["every token"].loss[-1] != pytest.approx(found["healthy"].loss[-1], abs=1e-3)
    assert len(found["healthy"].loss) == 10 and found["healthy"].evaluated == [1, 10]


def test_the_same_seed_gives_the_same_chart(charts, tok, texts, monkeypatch):
    monkeypatch.setattr(broken, "RECIPE", replace(broken.RECIPE, steps=10, hidden_size=32, batch_size=8))
    ids = [tok.encode_batch(list(sentences)) for sentences in texts]
    torch.manual_seed(99)
    again = broken.Training("no eval", tok, 5).chart(ids[:20], ids[20:])
    assert again.loss == pytest.approx(by_bug(charts)["no eval"].loss, abs=1e-4)


def test_letters_are_dealt_anew_for_each_seed():
    assert sorted(letters(0).values()) == sorted(BUGS)
    assert len({tuple(letters(seed).values()) for seed in range(4)}) == 4
