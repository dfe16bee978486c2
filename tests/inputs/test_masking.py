from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import InputError
from bertlab.inputs.masking import KEPT, MASKED, NOT_CHOSEN, RANDOM, Masking, mask_tokens
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer
from tests.conftest import tries

# Special tokens on purpose not in front: the draw must step over each of them.
TOKENS = [SPECIAL_TOKENS[0], *"abcde", *SPECIAL_TOKENS[1:4], *"fghij", SPECIAL_TOKENS[4]]
TOK = Tokenizer.from_vocab(TOKENS)
rows = st.integers(1, 8).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, len(TOKENS) - 1), min_size=width, max_size=width), min_size=1, max_size=8
    )
)
shares = st.sampled_from(
    [Masking(), Masking(rate=0.4), Masking(mask=1, random=0), Masking(mask=0, random=1), Masking(1.0, 0.0, 0.5)]
)


def run(input_ids, masking=Masking(), seed=0):  # noqa: B008
    generator = torch.Generator().manual_seed(seed)
    return mask_tokens(input_ids, TOK.special_mask(input_ids), TOK, generator, masking)


@tries(200)
@given(rows, shares, st.integers(0, 2**31))
def test_every_promise(rows, masking, seed):
    ids = torch.tensor(rows)
    special = TOK.special_mask(ids)
    before = ids.clone()
    out = run(ids, masking, seed)
    chosen = out.action != NOT_CHOSEN
    assert torch.equal(ids, before)
    assert not (chosen & special).any()
    for n, count in zip((~special).sum(1).tolist(), chosen.sum(1).tolist(), strict=True):
        assert count == (max(1, round(n * masking.rate)) if n else 0)
    assert torch.equal(out.labels, torch.where(chosen, ids, -100))
    assert (out.input_ids[out.action == MASKED] == TOK.mask_token_id).all()
    assert not TOK.special_mask(out.input_ids[out.action == RANDOM]).any()
    untouched = (out.action == NOT_CHOSEN) | (out.action == KEPT)
    assert torch.equal(out.input_ids[untouched], ids[untouched])
    total = int(chosen.sum())
    split = [int((out.action == action).sum()) for action in (MASKED, RANDOM, KEPT)]
    wanted = [total * masking.mask, total * masking.random, total * (1 - masking.mask - masking.random)]
    assert sum(split) == total
    assert all(abs(got - want) < 1 for got, want in zip(split, wanted, strict=True))
    again = run(ids, masking, seed)
    assert torch.equal(out.input_ids, again.input_ids) and torch.equal(out.action, again.action)


def test_paper_counts():
    ids = torch.full((100, 100), TOK.vocab["a"])
    out = run(ids)
    assert out.action.dtype == torch.uint8
    assert [int((out.action == action).sum()) for action in range(4)] == [8500, 1200, 150, 150]
    assert ((out.action != NOT_CHOSEN).sum(1) == 15).all()


def test_all_positions_and_all_tokens_get_their_turn():
    out = run(torch.full((4000, 20), TOK.vocab["a"]), Masking(mask=0.0, random=1.0))
    by_position = (out.action != NOT_CHOSEN).float().mean(0)  # 3 of 20 each
    assert (by_position - 0.15).abs().max() < 0.03
    drawn = out.input_ids[out.action == RANDOM].bincount(minlength=len(TOKENS)).float()
    ordinary = torch.tensor([token not in SPECIAL_TOKENS for token in TOKENS])
    assert (drawn[~ordinary] == 0).all()
    assert (drawn[ordinary] / drawn.sum() - 0.1).abs().max() < 0.02


def test_other_seed_other_choice():
    ids = torch.full((10, 50), TOK.vocab["a"])
    assert not torch.equal(run(ids, seed=1).action, run(ids, seed=2).action)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": 1.5}, {"mask": 0.9, "random": 0.2}, {"random": -0.1}])
def test_impossible_shares(wrong):
    with pytest.raises(InputError, match="masking"):
        replace(Masking(), **wrong)


# Whole words


PIECES = Tokenizer.from_vocab([*SPECIAL_TOKENS, *"abc", *(f"##{letter}" for letter in "def")])
piece_rows = st.integers(1, 20).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 10), min_size=width, max_size=width), min_size=1, max_size=6)
)


def words_of(row: list[int]) -> list[list[int]]:
    """Places of each word's pieces; what follows a special token begins a word."""
    words = []
    for position, token in enumerate(PIECES.convert_ids_to_tokens(row)):
        if token in SPECIAL_TOKENS:
            continue
        goes_on = token.startswith("##") and position and row[position - 1] not in PIECES.all_special_ids
        words[-1].append(position) if goes_on else words.append([position])
    return words


CHINESE = ["北京大学", "的", "学生", "在", "研究", "生命", "南京市", "长江大桥", "。"]
CHARACTERS = Tokenizer.from_vocab([*SPECIAL_TOKENS, *sorted({*"".join(CHINESE)}), "bert", "##s"])


def test_words_of_chinese_are_hidden_whole_and_the_rest_as_before():
    rjieba = pytest.importorskip("rjieba")
    assert rjieba.cut("".join(CHINESE)) == CHINESE
    batch = CHARACTERS(["".join(CHINESE), "berts " + "北京berts"], special_tokens_mask=True)
    masking, seen = Masking(rate=0.3, whole_word=True, chinese_words=True), set()
    for seed in range(60):
        generator = torch.Generator().manual_seed(seed)
        out = mask_tokens(batch["input_ids"], batch["special_tokens_mask"], CHARACTERS, generator, masking)
        hidden = (out.labels != -100).tolist()
        position = 1
        for word in CHINESE:
            assert len({*hidden[0][position : position + len(word)]}) == 1, word
            seen |= {word} if hidden[0][position] else set()
            position += len(word)
        assert hidden[1][1] == hidden[1][2] and hidden[1][3] == hidden[1][4] and hidden[1][5] == hidden[1][6]
    assert seen == {*CHINESE}


def test_words_of_chinese_need_whole_words_and_the_extra(monkeypatch):
    with pytest.raises(InputError, match="masking.whole_word=true too"):
        Masking(chinese_words=True)
    monkeypatch.setattr("bertlab.errors.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'rjieba is not installed: pip install "bertlab\[chinese\]"'):
        Masking(whole_word=True, chinese_words=True)


@tries(300)
@given(piece_rows, st.sampled_from([0.1, 0.15, 0.4, 1.0]), st.integers(0, 2**31))
def test_the_pieces_of_a_word_stay_together(rows, rate, seed):
    ids = torch.tensor(rows)
    generator = torch.Generator().manual_seed(seed)
    out = mask_tokens(ids, PIECES.special_mask(ids), PIECES, generator, Masking(rate=rate, whole_word=True))
    chosen = (out.labels != -100).tolist()
    assert not (PIECES.special_mask(ids) & (out.labels != -100)).any()
    for row, hidden in zip(rows, chosen, strict=True):
        words = words_of(row)
        taken = [word for word in words if hidden[word[0]]]
        assert all(len({hidden[position] for position in word}) == 1 for word in words)
        if words:
            available, longest = sum(map(len, words)), max(map(len, words))
            wanted = max(1, round(available * rate))
            assert taken and (len(taken) == 1 or abs(sum(hidden) - wanted) <= longest / 2)


def test_whole_words_all_get_their_turn_at_the_rate():
    a, e = PIECES.vocab["a"], PIECES.vocab["##e"]
    ids = torch.tensor([[a, e, a, a, e, e, a, a, e, a] * 4] * 2000)
    generator = torch.Generator().manual_seed(0)
    out = mask_tokens(ids, PIECES.special_mask(ids), PIECES, generator, Masking(whole_word=True))
    by_position = (out.action != NOT_CHOSEN).float().mean(0)
    assert float(by_position.mean()) == pytest.approx(0.15, abs=0.01)
    assert (by_position - 0.15).abs().max() < 0.04
