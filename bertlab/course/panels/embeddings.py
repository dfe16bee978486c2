"""Panel of the chapter on input embeddings: one position, and how alike all others are to it as training goes on."""

import base64
from collections.abc import Mapping
from io import BytesIO

import ipywidgets as widgets
from matplotlib.figure import Figure
from torch import Tensor

from bertlab.course.panels.base import LABEL, WIDE, Panel, panel
from bertlab.draw.embeddings_figures import curves


def positions_panel(similarities: Mapping[str, Tensor], position: int = 40) -> Panel:
    """`similarities` (P, P) of the position vectors, by the name of the moment; a slider for the moment, one for the
    position. The first moment stays in the picture, to compare with."""
    start, *_, last = similarities
    moment = widgets.SelectionSlider(
        options=list(similarities), value=last, description="moment", style=LABEL, layout=WIDE
    )
    count = len(similarities[start])
    place = widgets.IntSlider(position, 0, count - 1, description="position", style=LABEL, layout=WIDE)

    def show(moment: str, position: int) -> str:
        rows = {name: similarities[name][position] for name in dict.fromkeys((moment, start))}
        return image_html(curves(rows, "position", f"cosine with position {position}", mark=position))

    return panel(show, moment=moment, position=place)


def image_html(fig: Figure) -> str:
    """A figure as an image that needs no file."""
    file = BytesIO()
    fig.savefig(file, format="png")
    return f'<img src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'
