from dataclasses import replace

import pytest
import torch

from bertlab.draw.charts import spans as span_charts
from bertlab.draw.charts.base import png
from bertlab.draw.html.marked import shaded_passage
from bertlab.explain.spans import Answer, PassageWindow, legal_spans, span_grid
from bertlab.tasks.span_decoding import Span
from tests.unstyled import unstyled

PASSAGE = "<b> c d"


@pytest.fixture
def found() -> Answer:
    """Tokens 3 to 5 are the passage, and answers start with 3 or 4 and take at most two tokens."""
    start, end = torch.arange(7.0), torch.tensor([0, 0, 0, 1.0, 9, 3, 0])
    positions = torch.arange(7)
    legal = legal_spans((positions > 2) & (positions < 5), (positions > 2) & (positions < 6), 2)
    best = Span(4, 4, 4, 5, "c", 13.0, 0.9)
    return Answer(
        best=best,
        spans=[best, Span(0, 0, 0, 0, "", 1.0, 0.1)],
        no_answer_probability=0.1,
        tokens=["[CLS]", "q", "[SEP]", "'</script>", "c", "d", "[SEP]"],
        start_probabilities=start.softmax(0),
        end_probabilities=end.softmax(0),
        grid=span_grid(start, end, legal, 14.0),
        passage_slice=(3, 6),
        passage=PASSAGE,
        windows=(PassageWindow(0, 7, 4, 5, 13.0, 1.0),),
        offsets=((0, 0), (0, 1), (0, 0), (0, 3), (4, 5), (6, 7), (0, 0)),
        start_slice=(3, 5),
        no_answer_score=-12.0,
        threshold=0.5,
        max_answer_tokens=2,
    )


def test_legal_cells_and_masked_cells_make_the_square(found):
    table, masked = span_charts.span_table(found, range(3, 6)), span_charts.masked_table(found, range(3, 6))
    legal = {(int(i), int(j)) for i, j in (found.grid > 0).nonzero().tolist()}
    assert set(zip(table["start"], table["end"], strict=True)) == legal == {(3, 3), (3, 4), (4, 4), (4, 5)}
    reasons = dict(zip(zip(masked["start"], masked["end"], strict=True), masked["why not"], strict=True))
    assert reasons[4, 3] == span_charts.BACKWARDS and reasons[3, 5] == span_charts.LONG
    assert reasons[5, 5] == span_charts.ELSEWHERE and len(table) + len(masked) == 9


def test_the_best_span_is_framed_in_its_own_window_only(found):
    assert len(span_charts.span_heatmap(found, range(3, 6)).layer) == 3
    assert len(span_charts.span_heatmap(replace(found, window=1), range(3, 6)).layer) == 2


def test_the_table_says_what_was_weighed(found):
    assert list(span_charts.best_table(found)["answer"]) == ["c", "(no answer)"]


def test_the_passage_on_lines_holds_every_word_and_underlines_the_answer(found):
    table = span_charts.passage_table(found)
    first, stop = found.passage_slice
    assert list(table["position"]) == list(range(first, stop))
    assert "".join(table["word"]) == "".join(found.passage[slice(*found.offsets[i])] for i in range(first, stop))
    for _, line in table.groupby("line"):
        assert (line["right"].iloc[:-1].to_numpy() <= line["left"].iloc[1:].to_numpy()).all()
    marked = table[table["in answer"]]
    assert list(marked["position"]) == list(range(found.best.start_token, found.best.end_token + 1))


@pytest.mark.parametrize("name", ["span_heatmap", "passage_chart"])
def test_charts_become_files(found, name):
    tokens = [range(3, 6)] if name == "span_heatmap" else []
    assert png(getattr(span_charts, name)(found, *tokens), scale=1).startswith(b"\x89PNG")


def test_a_passage_is_shaded_and_escaped(found):
    html = shaded_passage(found)
    assert "&lt;b&gt;" in html and "<b>" not in html
    assert '<span class=best title="start 8.6%, end &gt; 99%">' in unstyled(html) and html.count("class=best") == 1
    cut = shaded_passage(replace(found, passage_slice=(4, 5)))
    assert '<span style="opacity:.5">&lt;b&gt; </span>' in cut and '<span style="opacity:.5"> d</span>' in cut
