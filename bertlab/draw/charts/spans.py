"""Altair charts and tables of how an answer is chosen: every start against every end, the passage, the best spans."""

from unicodedata import east_asian_width

import altair as alt
import pandas as pd

from bertlab.draw.charts.base import tips, token_names
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE
from bertlab.explain.spans import Answer
from bertlab.tasks.span_decoding import ALWAYS_ANSWER

_BARE = dict(grid=False, ticks=False, domain=False, labelFlush=False)
ANSWER = OKABE_ITO[4]  # the line under it
LINE, LETTER, LEADING = 92, 7.85, 26  # characters of a line; pixels of a character and a line
ALLOWED, BACKWARDS, LONG, ELSEWHERE = "may be an answer", "ends before it starts", "too long", "read in another window"
CUT = "cuts a word"


def span_table(answer: Answer, tokens: range) -> pd.DataFrame:
    """One row a legal span inside `tokens`: where it starts and ends, its text, its probability."""
    rows = [
        (i, j, answer.tokens[i], answer.tokens[j], " ".join(answer.tokens[i : j + 1]), float(answer.grid[i, j]))
        for i in tokens
        for j in tokens
        if why_not(answer, i, j) == ALLOWED
    ]
    return pd.DataFrame(rows, columns=["start", "end", "first", "last", "span", "probability"])


def why_not(answer: Answer, start: int, end: int) -> str:
    """Why no answer may go from token `start` to token `end` of the passage, or that it may."""
    if end < start:
        return BACKWARDS
    if end - start >= answer.max_answer_tokens:
        return LONG
    first, stop = answer.start_slice
    if not first <= start < stop:
        return ELSEWHERE
    return CUT if {start, end + 1} & answer.joined else ALLOWED


def masked_table(answer: Answer, tokens: range) -> pd.DataFrame:
    """One row a cell of the square of `tokens` that cannot be an answer, and why."""
    rows = [(i, j, why_not(answer, i, j)) for i in tokens for j in tokens]
    return pd.DataFrame([row for row in rows if row[2] != ALLOWED], columns=["start", "end", "why not"])


def span_heatmap(answer: Answer, tokens: range) -> alt.LayerChart:
    """Start (rows) x end (columns) probabilities; what cannot be an answer is grey, the best span framed."""
    step = max(13, min(20, 560 // len(tokens)))
    label = dict(labelExpr=token_names(tokens, answer.tokens), labelLimit=110, labelFontSize=min(12, step - 2), **_BARE)
    scale = alt.Scale(domain=list(tokens))
    axes = {
        "x": alt.X("end:O", scale=scale, title="answer ends with", axis=alt.Axis(labelOverlap=True, **label)),
        "y": alt.Y("start:O", scale=scale, title="answer starts with", axis=alt.Axis(labelOverlap=False, **label)),
    }
    masked = alt.Chart(masked_table(answer, tokens)).encode(**axes, tooltip=[alt.Tooltip("why not:N")])
    reasons = [BACKWARDS, LONG, ELSEWHERE, CUT]
    greys = alt.Opacity("why not:N", scale=alt.Scale(domain=reasons, range=[0.13, 0.3, 0.45, 0.2]), legend=None)
    base = alt.Chart(span_table(answer, tokens)).encode(
        **axes, tooltip=tips("span", "first", "last", ("probability", ".4f"))
    )
    legend = alt.Legend(title="probability", format=".0%", orient="top", gradientLength=150)
    colour = alt.Color("probability:Q", scale=alt.Scale(scheme="cividis", domainMin=0), legend=legend)
    best = (alt.datum.start == answer.best.start_token) & (alt.datum.end == answer.best.end_token)
    frame = base.transform_filter(best).mark_rect(filled=False, stroke=ORANGE, strokeWidth=3)
    drawn = masked.mark_rect(color=GREY).encode(opacity=greys) + base.mark_rect().encode(color=colour)
    if answer.best.window == answer.window:
        drawn += frame
    return drawn.properties(height=alt.Step(step))


def passage_table(answer: Answer) -> pd.DataFrame:
    """One row a token of the passage's window: its text, where it stands on which line, start and end probability."""
    first, stop = answer.passage_slice
    rows, line, column, done = [], 0, 0, answer.offsets[first][0]
    for i in range(first, stop):
        start, end = answer.offsets[i]
        gap, word = answer.passage[done:start], answer.passage[start:end]
        column += len(gap)
        if gap and ("\n" in gap or column + _width(word) > LINE):
            line, column = line + 1, 0
        best = answer.best.start_char <= start < answer.best.end_char
        p = float(answer.start_probabilities[i]), float(answer.end_probabilities[i])
        rows.append((i, word, line, column, column + _width(word), *p, best))
        column, done = column + _width(word), end
    return pd.DataFrame(rows, columns=["position", "word", "line", "left", "right", "start", "end", "in answer"])


def _width(text: str) -> int:
    """Return the width of a text in characters; those of Chinese and its neighbours are two wide."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def passage_chart(answer: Answer) -> alt.LayerChart:
    """The passage: the left half of a token is blue as an answer may start with it, the right orange as it may end.

    The answer is underlined. Shades go with the square root of the probability, as in shaded_passage.
    """
    table = passage_table(answer)
    table["middle"] = (table["left"] + table["right"]) / 2
    width = max(LINE, int(table["right"].max()))
    scale = alt.Scale(domain=[0, width], nice=False)
    base = alt.Chart(table).encode(
        x=alt.X("left:Q", scale=scale, axis=None), y=alt.Y("line:O", scale=alt.Scale(paddingInner=0.2), axis=None)
    )
    shades = [
        base.encode(x=alt.X(f"{left}:Q", scale=scale, axis=None), x2=alt.X2(f"{right}:Q"))
        .transform_calculate(shade=f"0.75 * sqrt(datum.{kind})")
        .mark_rect(color=colour)
        .encode(opacity=alt.Opacity("shade:Q", scale=None, legend=None))
        for kind, colour, left, right in (("start", BLUE, "left", "middle"), ("end", ORANGE, "middle", "right"))
    ]
    inside = base.encode(x2=alt.X2("right:Q")).transform_filter(alt.datum["in answer"])
    under = inside.mark_bar(color=ANSWER, height=3, yOffset=11)
    words = base.mark_text(align="left", font="monospace", fontSize=13).encode(text=alt.Text("word:N"))
    title = alt.Title("blue: may start the answer, orange: may end it", anchor="start", fontWeight="normal")
    size = dict(width=LETTER * width, height=alt.Step(LEADING))
    return alt.layer(*shades, under, words).properties(title=title, **size)


def best_table(answer: Answer) -> pd.DataFrame:
    """Return one row a span of the n-best list, the prediction first; "no answer" only if the model can predict it."""
    spans = [span for span in answer.spans if span.text or answer.threshold < ALWAYS_ANSWER]
    rows = [
        (rank, span.text or "(no answer)", span.probability, span.score, str(span.window + 1) if span.text else "all")
        for rank, span in enumerate(spans, 1)
    ]
    return pd.DataFrame(rows, columns=["rank", "answer", "probability", "score", "window"])
