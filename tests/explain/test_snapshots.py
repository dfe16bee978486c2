import pytest
import torch

from bertlab import BertForPreTraining
from bertlab.draw.charts.film import head_tile, strip, target_table, word_lines, word_table
from bertlab.errors import InputError
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.runs import Moment
from bertlab.explain.snapshots import (
    Targets,
    WordFrame,
    followed_words,
    gap_targets,
    head_film,
    picked,
    role_targets,
    word_film,
)
from bertlab.explain.words.fill import fill_mask
from tests.alike import assert_alike

TEXT = "the animal [MASK] cross the [MASK]."


@pytest.fixture(scope="module")
def moments(tmp_path_factory, model, tok):
    home = tmp_path_factory.mktemp("run")
    for step, seed in ((0, 1), (30, 2)):
        torch.manual_seed(seed)
        BertForPreTraining(model.config).save_pretrained(home / f"step-{step:05d}", tok)
    model.save_pretrained(home, tok)
    return [Moment(0, str(home / "step-00000")), Moment(30, str(home / "step-00030")), Moment(90, str(home))]


@pytest.mark.parametrize("gap", [0, 1])
def test_words_are_those_of_each_model(moments, model, tok, gap):
    frames = list(word_film(moments, TEXT, gap=gap))
    assert [frame.step for frame in frames] == [0, 30, 90]
    expected = fill_mask(model, tok, TEXT, k=3)[gap]
    best = frames[-1].probabilities.topk(3)
    assert tok.convert_ids_to_tokens(best.indices) == expected.tokens
    assert best.values.tolist() == pytest.approx(expected.probabilities, abs=1e-6)
    table = word_table(frames, followed_words(frames), tok)
    assert len(table) == 3 * table["token"].nunique()
    assert word_lines(table, step=30).to_dict()["layer"]


def test_followed_are_the_first_guesses_the_last_one_first():
    shares = torch.eye(20)
    frames = [WordFrame(step, shares[step] + torch.linspace(0.1, 0, 20)) for step in range(12)]
    assert followed_words(frames) == [11, 10, 9, 8, 7, 6, 5, 4]
    assert followed_words(frames[-1:]) == [11]


def test_a_few_of_many_moments_from_first_to_last():
    many = [Moment(step, "") for step in range(30)]
    assert [moment.step for moment in picked(many, 4)] == [0, 10, 19, 29]
    assert picked(many[:4], 4) == tuple(many[:4])


def test_no_gap_is_named(moments):
    for text, gap in (("the animal", 0), (TEXT, 2)):
        with pytest.raises(InputError, match=r"no \[MASK\] to fill"):
            list(word_film(moments, text, gap=gap))
    with pytest.raises(InputError, match="empty"):
        list(head_film(moments, " "))


def test_heads_are_those_of_each_model(moments, model, tok):
    frames = list(head_film(moments, TEXT, "he likes walks.", limit=9))
    expected = attention_maps(model, tok, TEXT, "he likes walks.", 9)
    torch.testing.assert_close(frames[-1].maps.weights, expected.weights)
    targets = role_targets(frames, expected)
    assert targets.shares.shape == (3, 3, 4, len(targets.names)) and not targets.of_gap
    torch.testing.assert_close(targets.shares[-1], targets.control, equal_nan=True)
    table = target_table(targets.names, targets.shares[:, 1, 2], [0, 30, 90])
    told = set(targets.names) - {"same word", "punctuation"}  # of which the first 9 tokens have none
    assert set(table["to"]) == told and len(table) == 3 * len(told) and table["share"].between(0, 1).all()
    assert targets.strongest.shape == (3, 4) and len(targets.by_growth()) == 12
    tile = head_tile(frames[0], 1, 2, "next: 10%").to_dict()
    assert len(strip([head_tile(frame, 1, 2) for frame in frames]).to_dict()["concat"]) == 3
    (cells,) = tile["datasets"].values()
    assert len(cells) == 81 and cells[10]["weight"] == pytest.approx(
        float(frames[0].maps.weights[1, 2, 1, 1]), abs=1e-4
    )


def test_what_a_gap_attends_to_is_followed(moments):
    frames = list(head_film(moments, TEXT))
    tokens = frames[0].maps.tokens
    targets = gap_targets(frames, frames[0].maps)
    gap = tokens.index("[MASK]")
    assert targets.names == tokens and targets.of_gap
    assert_alike(targets.shares[2, 1, 3], frames[2].maps.weights[1, 3, gap])
    assert_alike(targets.control, targets.shares[0])
    assert_alike(targets.uniform.sum(), 1.0)
    without = next(head_film(moments[:1], "the animal"))
    with pytest.raises(InputError, match=r"no \[MASK\] whose attention"):
        gap_targets([without], without.maps)
    assert [token for token, dull in zip(tokens, targets.dull.tolist(), strict=True) if not dull] == [
        "the",
        "anim",
        "##s",
        "the",
    ]


def test_first_are_the_heads_that_changed_most():
    shares = torch.zeros(3, 2, 4, 3)
    shares[-1, 0, 1, 2] = 0.9  # where heads rest
    shares[-1, 1, 2, 1] = 0.5
    shares[1, 0, 3, 0] = 0.8  # on the way only
    shares[:, 1, 3, 0] = 0.9  # all along
    order = Targets("abc", shares, shares[0], shares[0, 0, 0], torch.tensor([False, False, True])).by_growth()
    assert order[0] == (1, 2) and order[-1] == (0, 1)
    assert sorted(order) == [(layer, head) for layer in range(2) for head in range(4)]
