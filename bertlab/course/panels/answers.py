"""A panel of a question about a passage: the answer, the threshold, and all spans as a square of start and end."""

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, line, panel
from bertlab.course.panels.embeddings import image_html
from bertlab.course.panels.models import answer_html
from bertlab.draw.figures.answers import span_square
from bertlab.explain.spans import Answer, answer


def spans_panel(model, tokenizer, question: str, passage: str) -> Panel:
    """A question and a passage to change, the threshold of "no answer" and the longest answer in tokens."""
    area = widgets.Textarea(passage, description="passage", style=LABEL, rows=5, layout=WIDE)
    own = round(min(max(model.config.no_answer_threshold, -15.0), 15.0), 1)
    threshold = widgets.FloatSlider(own, min=-15, max=15, step=0.1, description="threshold", style=LABEL, layout=WIDE)
    longest = widgets.IntSlider(30, 1, 30, description="longest", style=LABEL, layout=WIDE)

    def show(question: str, passage: str, threshold: float, longest: int) -> str:
        return spans_html(answer(model, tokenizer, question, passage, max_answer_tokens=longest, threshold=threshold))

    return panel(show, question=line("question", question), passage=area, threshold=threshold, longest=longest)


def spans_html(found: Answer) -> str:
    """The passage with the answer marked, what the threshold is compared with, and the square."""
    side = "above: no answer" if found.no_answer_score > found.threshold else "not above: the best span"
    compared = f"no answer minus best span: {found.no_answer_score:.1f}, threshold {found.threshold:.1f}, {side}"
    return f"{answer_html(found)}<p>{compared}</p>{image_html(span_square(found))}"
