import pytest
import torch

from bertlab.errors import InputError
from bertlab.explain.spans import answer, legal_spans, span_grid
from bertlab.model.heads import QuestionAnsweringOutput

QUESTION, PASSAGE = "what did he buy?", "the man went to the store. he bought a gallon of milk."


def test_grid_by_hand():
    start, end = torch.tensor([1.0, 0.0, 2.0, -1.0]), torch.tensor([0.0, 3.0, 1.0, 0.5])
    mask = torch.tensor([False, False, True, True])
    grid = span_grid(start, end, mask)
    cells = {(0, 0): 1.0, (2, 2): 3.0, (2, 3): 2.5, (3, 3): -0.5}
    scores = torch.tensor(list(cells.values())).softmax(0)
    expected = torch.zeros(4, 4)
    for (i, j), value in zip(cells, scores, strict=True):
        expected[i, j] = value
    torch.testing.assert_close(grid, expected)


def test_longest_answer_is_kept_to():
    legal = legal_spans(torch.ones(6), max_answer_tokens=2)
    assert legal.sum() == 6 + 5
    assert not legal[3, 2] and legal[2, 3] and not legal[2, 4]


def test_answer_is_consistent(reader, tok):
    found = answer(reader, tok, QUESTION, PASSAGE, n=4)
    first, last = found.passage_slice
    assert found.tokens[first - 1] == found.tokens[last] == "[SEP]"
    assert float(found.grid.sum()) == pytest.approx(1, abs=1e-5)
    assert found.no_answer_probability == float(found.grid[0, 0])
    assert float(found.start_probabilities.sum()) == pytest.approx(1, abs=1e-5)
    shares = [found.probability(span) for span in found.spans]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(float(found.grid.max()))
    for span in found.spans:
        assert span.text == PASSAGE[span.start_char : span.end_char]


class Sure:
    """Stands for a model that is sure of one token for both ends."""

    def __init__(self, config, place):
        self.config, self.place = config, place

    def __call__(self, input_ids, **_):
        logits = torch.full(input_ids.shape, -9.0)
        logits[0, self.place] = 9.0
        return QuestionAnsweringOutput(logits, logits)


def test_no_answer_where_cls_wins_and_the_word_where_it_wins(reader, tok):
    nothing = answer(Sure(reader.config, 0), tok, QUESTION, PASSAGE)
    assert nothing.best.text == ""
    assert nothing.no_answer_probability > 0.99
    milk = tok([QUESTION], [PASSAGE])["input_ids"].shape[1] - 3
    assert answer(Sure(reader.config, milk), tok, QUESTION, PASSAGE).best.end_char == len(PASSAGE) - 1


@pytest.mark.parametrize(
    ("question", "passage", "named"),
    [("", PASSAGE, "question"), (QUESTION, " \n", "passage"), ("\x00", PASSAGE, "question")],
)
def test_what_is_empty_is_named(reader, tok, question, passage, named):
    with pytest.raises(InputError, match=f"the {named} is empty"):
        answer(reader, tok, question, passage)


def test_long_passage_is_cut_and_counted(reader, tok):
    found = answer(reader, tok, QUESTION, "milk " * 10_000)
    assert len(found.tokens) == 48
    assert found.dropped > 9_900
