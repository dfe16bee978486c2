from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.explain.spans import answer, answer_from, count_windows, legal_spans, read_passage, span_grid, window_batch
from bertlab.model.heads import QuestionAnsweringOutput
from bertlab.tasks.span import SpanTask
from tests.alike import assert_alike
from tests.conftest import tries

QUESTION, PASSAGE = "what did he buy?", "the man went to the store. he bought a gallon of milk."


def test_grid_by_hand():
    start, end = torch.tensor([1.0, 0.0, 2.0, -1.0]), torch.tensor([0.0, 3.0, 1.0, 0.5])
    mask = torch.tensor([False, False, True, True])
    scores = torch.tensor([3.0, 2.5, -0.5])
    grid = span_grid(start, end, legal_spans(mask, mask), float(scores.logsumexp(0)))
    expected = torch.zeros(4, 4)
    for (i, j), value in zip([(2, 2), (2, 3), (3, 3)], scores.softmax(0), strict=True):
        expected[i, j] = value
    torch.testing.assert_close(grid, expected)


def test_longest_answer_is_kept_to():
    legal = legal_spans(torch.ones(6), torch.ones(6), max_answer_tokens=2)
    assert legal.sum() == 6 + 5
    assert not legal[3, 2] and legal[2, 3] and not legal[2, 4]


def test_answer_is_consistent(reader, tok):
    found = answer(reader, tok, QUESTION, PASSAGE, n=4)
    first, last = found.passage_slice
    assert found.tokens[first - 1] == found.tokens[last] == "[SEP]"
    assert float(found.grid.sum()) == pytest.approx(1, abs=1e-5)
    assert found.no_answer_probability == pytest.approx(float(found.grid[0, 0]))
    assert float(found.start_probabilities.sum()) == pytest.approx(1, abs=1e-5)
    shares = [span.probability for span in found.spans]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(float(found.grid.max()))
    for span in found.spans:
        assert span.probability == pytest.approx(float(found.grid[span.start_token, span.end_token]), abs=1e-6)
        assert span.text == PASSAGE[span.start_char : span.end_char]


class Sure(torch.nn.Module):
    """Stands for a model that is sure of one token for both ends."""

    def __init__(self, config, position):
        super().__init__()
        self.config, self.position = config, position
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, input_ids, **_):
        logits = torch.full(input_ids.shape, -9.0)
        logits[0, self.position] = 9.0
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


def test_a_question_that_is_too_long_is_named(reader, tok):
    with pytest.raises(InputError, match=r"question 'who likes .*' takes 64 tokens"):
        answer(reader, tok, "who likes milk " * 30, PASSAGE)


@tries(30)
@example("the the the", 2)  # another span with the text of the best one
@given(st.lists(st.sampled_from(PASSAGE.split()), min_size=1, max_size=150).map(" ".join), st.integers(1, 9))
def test_it_says_what_the_task_says(reader, tok, passage, longest):
    found = answer(reader, tok, QUESTION, passage, n=4, max_answer_tokens=longest)
    task = SpanTask(tok, 48, max_answer_tokens=longest, n_best=4)
    said = next(task.predict(reader, [QAExample("1", QUESTION, passage, "", -1)]))
    assert (found.best.text, found.best.start_char) == (said.text, said.start_char)
    assert (found.best.score, found.best.probability) == pytest.approx((said.score, said.probability), abs=1e-5)
    assert found.no_answer_probability == pytest.approx(said.no_answer_probability, abs=1e-5)
    spans = [span for span in found.spans if span.text]
    assert len(spans) >= min(3, len(said.candidates))
    for span, other in zip(spans, said.candidates, strict=False):
        assert (span.text, span.score) == (other.text, pytest.approx(other.score, abs=1e-5))


def test_every_window_is_read_once(reader, tok):
    passage = f" {PASSAGE}\x00 " * 6
    windows = []
    for window in read_passage(reader, tok, QUESTION, passage):
        windows.append(window)
        assert window.feature.window == len(windows) - 1
    assert len(windows) == count_windows(reader, tok, QUESTION, passage) > 3
    for number in (None, 0, 2):
        whole = answer(reader, tok, QUESTION, passage, window=number)
        made = answer_from(reader, tok, passage, windows, window=number)
        assert_alike((made.spans, made.window, made.windows), (whole.spans, whole.window, whole.windows))
        torch.testing.assert_close(made.grid, whole.grid)


def test_windows_of_a_long_passage(reader, tok):
    passage = " ".join(f"{PASSAGE} my dog likes walks." for _ in range(20))
    found = answer(reader, tok, QUESTION, passage)
    assert len(found.windows) > 5 and found.windows[0][0] == 0 and found.windows[-1][1] == len(passage)
    assert all(before[1] > after[0] for before, after in pairwise(found.windows))  # they overlap
    span = next(span for span in found.spans if span.text)
    assert found.window == span.window
    best = found.windows[found.window]
    assert best.start_char <= span.start_char < span.end_char <= best.end_char
    assert (best.best_start, best.best_end, best.score) == (span.start_char, span.end_char, span.score)
    assert span.score == max(window.score for window in found.windows)
    least = min(window.no_answer_score for window in found.windows)
    assert found.no_answer_score == pytest.approx(least - span.score)
    start, stop = found.passage_slice
    assert start <= span.start_token <= span.end_token < stop and len(found.tokens) <= 48
    assert float(found.grid[span.start_token, span.end_token]) == pytest.approx(span.probability, abs=1e-6)
    assert float(found.grid.flatten()[1:].max()) == pytest.approx(span.probability, abs=1e-6)
    assert float(found.grid.sum()) < 1 and found.dropped == 0


def test_another_window_can_be_looked_at(reader, tok):
    passage = " ".join([PASSAGE] * 6)
    best = answer(reader, tok, QUESTION, passage)
    every = [answer(reader, tok, QUESTION, passage, window=number) for number in range(len(best.windows))]
    assert len(every) > 3
    for number, found in enumerate(every):
        assert found.window == number
        assert_alike(found.best, best.best)
        start, end = divmod(int(found.grid.flatten()[1:].argmax()) + 1, len(found.tokens))
        assert found.start_slice[0] <= start < found.start_slice[1]
        seen = found.windows[number]
        assert (found.offsets[start][0], found.offsets[end][1]) == (seen.best_start, seen.best_end)
    spans = sum(float(found.grid.flatten()[1:].sum()) for found in every)
    assert spans + best.no_answer_probability == pytest.approx(1, abs=1e-4)
    with pytest.raises(InputError, match="window=99: the passage has the windows 0 to"):
        answer(reader, tok, QUESTION, passage, window=99)
    with pytest.raises(InputError, match="window=99: the passage has the windows 0 to"):
        window_batch(reader, tok, QUESTION, passage, 99)


def test_the_threshold_of_the_config(reader, tok):
    class Told(Sure):
        def forward(self, **inputs):
            return reader(**inputs)

    config = SimpleNamespace(max_position_embeddings=48, no_answer_threshold=1e9)
    assert answer(Told(config, 0), tok, QUESTION, PASSAGE).best.text
    config.no_answer_threshold = -1e9
    found = answer(Told(config, 0), tok, QUESTION, PASSAGE)
    assert found.best == found.spans[0] and found.best.text == ""
    assert found.threshold == -1e9 < found.no_answer_score
    assert found.best.probability == pytest.approx(float(found.grid[0, 0]))
