"""Altair charts and tables of what a model makes of masked tokens: the lens, surprisals, losses, next sentences."""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

import altair as alt
import pandas as pd

from bertlab.draw.charts.base import PLAIN, ROW, tips, token_axis, token_names
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE, PINK
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.lens import Lens
from bertlab.explain.words.masking import Guess
from bertlab.explain.words.next_sentence import NextSentence
from bertlab.explain.words.surprisal import Surprisal

_BARE = dict(ticks=False, domain=False)
WEIGHTS = ["this model", "random weights"]
SIDE, LETTERS = 420, 60  # pixels of a panel beside another, and letters in a line of its title


def fill_table(fills: Sequence[Fill]) -> pd.DataFrame:
    """One row a guess: position, rank, token, probability."""
    rows = [
        (fill.position, rank, token, probability)
        for fill in fills
        for rank, (token, probability) in enumerate(zip(fill.tokens, fill.probabilities, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["position", "rank", "token", "probability"])


def fill_bars(fill: Fill, truth: str | None = None, marked: Collection[str] = ()) -> alt.LayerChart:
    """Probability bars of the likeliest tokens at one position; the true token, if known, in green, `marked` ones in
    pink."""
    table = fill_table([fill]).assign(
        colour=lambda t: [GREEN if token == truth else PINK if token in marked else BLUE for token in t["token"]],
        percent=lambda t: t["probability"].map(percent),
    )
    base = alt.Chart(table).encode(
        y=alt.Y("token:N", sort=None, title=None, axis=alt.Axis(**PLAIN, labelFontSize=14, labelLimit=110)),
        x=alt.X("probability:Q", title=None, scale=alt.Scale(domain=[0, 1.12]), axis=None),
        tooltip=tips("token", ("probability", ".4f")),
    )
    bars = base.mark_bar(height=15, cornerRadiusEnd=3).encode(color=alt.Color("colour:N", scale=None))
    labels = base.mark_text(align="left", dx=5, fontSize=13, color=GREY).encode(text=alt.Text("percent:N"))
    return (bars + labels).properties(height=alt.Step(25))


def titled_panels(
    fills: Mapping[str, Fill], title: str, truths: Sequence[str | None] = (), marked: Collection[str] = ()
) -> alt.ConcatChart:
    """Return the fill_bars at the gaps of several texts, two beside each other, each below its text."""
    panels = [
        fill_bars(fill, truth, marked).properties(
            title=alt.Title(wrap(text.replace("[MASK]", "____"), LETTERS), anchor="start"), width=SIDE
        )
        for (text, fill), truth in zip_longest(fills.items(), truths)
    ]
    return alt.concat(*panels, columns=2, title=_small_title(title))


def lens_table(lens: Lens) -> pd.DataFrame:
    """One row a layer and guess, with probability and rank of the last layer's answer beside."""
    rows = [
        (layer, rank, token, p, lens.answer, lens.probabilities[layer], lens.ranks[layer])
        for layer, fill in enumerate(lens.layers)
        for rank, (token, p) in enumerate(zip(fill.tokens, fill.probabilities, strict=True), 1)
    ]
    columns = ["layer", "guess", "token", "probability", "answer", "p(answer)", "rank of answer"]
    return pd.DataFrame(rows, columns=columns)


def lens_grid(lens: Lens) -> alt.LayerChart:
    """A row for each layer, the last on top, its likeliest tokens from left to right; the answer is framed."""
    table = lens_table(lens)
    base = alt.Chart(table).encode(
        x=alt.X("guess:O", title="guess of the layer, likeliest first", axis=alt.Axis(labelAngle=0, **_BARE)),
        y=alt.Y("layer:O", sort="descending", title="after layer (0 = embeddings)", axis=alt.Axis(**_BARE)),
        tooltip=tips("layer", "guess", "token", ("probability", ".4f")),
    )
    legend = alt.Legend(title="probability", format=".0%", orient="top", gradientLength=150)
    colour = alt.Color("probability:Q", scale=alt.Scale(scheme="cividis", domain=[0, 1]), legend=legend)
    cells = base.mark_rect(stroke="transparent").encode(color=colour)
    ink = alt.condition(alt.datum.probability > 0.55, alt.value("#111"), alt.value("#fff"))
    words = base.mark_text(fontSize=12, limit=alt.ExprRef("bandwidth('x') - 4")).encode(
        text=alt.Text("token:N"), color=ink
    )
    framed = base.transform_filter(alt.datum.token == lens.answer)
    frame = framed.mark_rect(filled=False, stroke=ORANGE, strokeWidth=3)
    return (cells + words + frame).properties(height=alt.Step(30))


def lens_course(lens: Lens, control: Lens) -> pd.DataFrame:
    """One row a layer and weights: probability and rank of the answer that the last layer gives."""
    rows = [
        (layer, weights, one.answer, p, rank)
        for weights, one in zip(reversed(WEIGHTS), (control, lens), strict=True)  # what is drawn last lies on top
        for layer, (p, rank) in enumerate(zip(one.probabilities, one.ranks, strict=True))
    ]
    return pd.DataFrame(rows, columns=["layer", "weights", "answer", "probability", "rank"])


def lens_probability(lens: Lens, control: Lens) -> alt.LayerChart:
    """Probability of the last layer's answer after each layer, the control's dashed."""
    y = alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1]), title=None, axis=alt.Axis(format="%", gridOpacity=0.4))
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=3)
    base = alt.Chart(lens_course(lens, control)).encode(
        x=alt.X("layer:O", title="after layer (0 = embeddings)", axis=alt.Axis(labelAngle=0, grid=False, **_BARE)),
        y=y,
        color=alt.Color("weights:N", scale=alt.Scale(domain=WEIGHTS, range=[BLUE, GREY]), legend=legend),
        tooltip=tips("layer", "weights", "answer", ("probability", ".4f"), "rank"),
    )
    dashes = alt.StrokeDash("weights:N", scale=alt.Scale(domain=WEIGHTS, range=[[1, 0], [5, 4]]), legend=None)
    lines = base.mark_line(strokeWidth=2.5).encode(strokeDash=dashes)
    return (lines + base.mark_point(filled=True, size=55, opacity=1)).properties(height=220)


def sweep_table(rows: Sequence[Surprisal]) -> pd.DataFrame:
    """One row a masked token: surprisal in nats, probability and rank of the truth, the model's own guess."""
    values = [
        (row.position, row.token, row.surprisal, math.exp(-row.surprisal), row.rank)
        + (row.fill.tokens[0], row.fill.probabilities[0], row.fill.entropy)
        for row in rows
    ]
    columns = ["position", "token", "surprisal", "probability", "rank", "guess", "p(guess)", "entropy"]
    return pd.DataFrame(values, columns=columns)


def surprisal_bars(rows: Sequence[Surprisal], vocab_size: int) -> alt.LayerChart:
    """The surprisal of each token, and what uniform guessing would give."""
    table = sweep_table(rows).rename(columns={"surprisal": "nats"})
    names = token_names(table["position"], dict(zip(table["position"], table["token"], strict=True)))
    title, uniform = "surprisal in nats", math.log(vocab_size)
    bars = (
        alt.Chart(table)
        .mark_bar(color=ORANGE, cornerRadiusEnd=2)
        .encode(
            y=alt.Y("position:O", title=None, axis=token_axis(names), scale=alt.Scale(paddingInner=0.25)),
            x=alt.X("nats:Q", title=title, axis=alt.Axis(gridOpacity=0.4, orient="top")),
            tooltip=["token", "guess", "rank", alt.Tooltip("nats", title=title, format=".3f")],
        )
    )
    level = alt.Chart(pd.DataFrame({"nats": [uniform]}))
    rule = level.mark_rule(strokeDash=[5, 4], color=GREY).encode(x=alt.X("nats:Q"))
    note = _small_title(f"dashed: uniform over {vocab_size:,} tokens, {uniform:.1f}")
    return (bars + rule).properties(height=alt.Step(ROW), title=note)


def loss_table(guesses: Sequence[Guess], actions: Sequence[str]) -> pd.DataFrame:
    """One row a chosen token: what it was, what the model saw, and how well it guessed; losses are in nats."""
    columns = ["position", "true token", "loss", "p(true)", "rank of true", "model sees", "action", "its guess"]
    rows = [(g.position, g.truth, g.loss, g.probability, g.rank, g.shown, actions[g.action], g.guess) for g in guesses]
    return pd.DataFrame(rows, columns=columns)


def _small_title(text: str) -> alt.Title:
    return alt.Title(text, anchor="start", frame="bounds", fontSize=13, fontWeight="normal", color=GREY)


def verdict_table(verdicts: Mapping[str, Sequence[NextSentence]]) -> pd.DataFrame:
    """One row a model and order: the probability that the second text follows the first."""
    rows = [
        (model, order, verdict.first, verdict.second, verdict.probability, verdict.log_odds)
        for model, both in verdicts.items()
        for order, verdict in zip(("as written", "texts swapped"), both, strict=True)
    ]
    return pd.DataFrame(rows, columns=["model", "order", "first", "second", "probability", "log-odds"])


def verdict_bars(verdicts: Mapping[str, Sequence[NextSentence]]) -> alt.LayerChart:
    """The probability that the second text follows, a bar for each model and order; 50% is no opinion."""
    table = verdict_table(verdicts).assign(percent=lambda t: t["probability"].map(percent))
    orders = ["as written", "texts swapped"]
    label = alt.Axis(labelLimit=120, labelFontSize=13, **_BARE)
    shares = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1], gridOpacity=0.4)
    base = alt.Chart(table).encode(
        y=alt.Y("model:N", sort=list(verdicts), title=None, axis=label),
        yOffset=alt.YOffset("order:N", sort=orders),
        x=alt.X("probability:Q", scale=alt.Scale(domain=[0, 1.12]), title=None, axis=shares),
        tooltip=tips("model", "order", ("probability", ".4f"), ("log-odds", "+.2f")),
    )
    legend = alt.Legend(title=None, orient="bottom", labelFontSize=13, columnPadding=6)
    colour = alt.Color("order:N", scale=alt.Scale(domain=orders, range=[BLUE, ORANGE]), legend=legend)
    bars = base.mark_bar(cornerRadiusEnd=3).encode(color=colour)
    numbers = base.mark_text(align="left", dx=5, color=GREY, fontSize=13).encode(text=alt.Text("percent:N"))
    title = _small_title("probability that the second text follows")
    return (bars + numbers).properties(height=alt.Step(26), title=title)
