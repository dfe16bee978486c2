"""Panel of chapter 10: a question in, functions out."""

from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, bar, line, panel
from bertlab.draw.palette import BLUE
from bertlab.search.ranking import Hit, Ranker, best_hits
from bertlab.search.units import Unit


def search_panel(units: Sequence[Unit], rankers: Mapping[str, Ranker], question: str, top: int = 5) -> Panel:
    """A question, and the `top` units by each of the rankers; the first of these is the one by meaning, whose cosines
    are shown."""
    meaning = next(iter(rankers.values()))

    def show(question: str, by: str) -> str:
        if not question.strip():
            return "<p>Type a question.</p>"
        return hits_html(best_hits(units, rankers[by](question), meaning(question), top))

    way = widgets.ToggleButtons(options=list(rankers), description="by", style=LABEL, layout=WIDE)
    return panel(show, question=line("question", question), by=way)


def hits_html(hits: Sequence[Hit]) -> str:
    """A row for each unit: rank, cosine as a bar, name and parameters, first sentence."""
    rows = "".join(
        f"<tr><td>{hit.rank}</td><td>{hit.similarity:.2f}</td><td>{bar(80 * max(hit.similarity, 0), BLUE)}</td>"
        f"<td style='text-align:left'><b>{escape(hit.unit.name)}</b>{escape(hit.unit.detail[:60])}<br>"
        f"{escape(hit.unit.sentence[:140])}</td></tr>"
        for hit in hits
    )
    return f"<table><tr><th>rank</th><th colspan='2'>cosine</th><th>function</th></tr>{rows}</table>"
