"""What every panel is made of: controls in a column, and below them what follows from their values."""

import base64
from collections.abc import Callable, Sequence
from html import escape
from io import BytesIO

import ipywidgets as widgets
from matplotlib.figure import Figure

from bertlab.draw.palette import BLUE
from bertlab.errors import InputError

WIDE = widgets.Layout(width="100%", max_width="780px")
LABEL = {"description_width": "90px"}


class Panel(widgets.VBox):
    """Widgets in a column. Where no kernel runs, `still()` (HTML) stands in for them."""

    def __init__(self, children: Sequence[widgets.Widget], still: Callable[[], str]):
        self._still = still
        super().__init__(children)

    def _repr_mimebundle_(self, **options) -> dict:
        hint = "<p><i>Run this cell to get its controls.</i></p>"
        bundle = super()._repr_mimebundle_(**options)
        return bundle | {"text/plain": "Run this cell to get its controls.", "text/html": hint + self._still()}


def line(name: str, text: str) -> widgets.Text:
    return widgets.Text(text, description=name, style=LABEL, layout=WIDE, continuous_update=False)


def slider(name: str, value: float, least: float, most: float, step: float = 0, **options: str) -> widgets.Widget:
    """A slider over whole numbers or, with a `step`, over those in between too."""
    kind = widgets.FloatSlider if step else widgets.IntSlider
    limits = {"value": value, "min": least, "max": most, "step": step or 1}
    return kind(**limits, description=name, style=LABEL, layout=WIDE, **options)


def bar(length: float, colour: str = BLUE, height: int = 12) -> str:
    """HTML of a bar, in pixels."""
    return f'<div style="background:{colour};height:{height}px;border-radius:2px;width:{length:.0f}px"></div>'


def bar_cell(length: float, colour: str, number: str, width: int, height: int = 12) -> str:
    """HTML of a cell of a table: a bar, and its number beside it; `width` is that of both, in pixels."""
    shown = f"{bar(length, colour, height)}<div>{number}</div>"
    return f'<td><div style="display:flex;gap:6px;width:{width}px">{shown}</div></td>'


def heading(*names: str) -> str:
    """HTML of the first row of a table whose cells begin at the left."""
    return "<tr>" + "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in names) + "</tr>"


def panel(show: Callable[..., str], **controls: widgets.Widget) -> Panel:
    """The controls in a column, and below them the HTML that `show` makes of their values."""
    result = widgets.HTML()

    def update(_=None) -> None:
        try:
            result.value = show(**{name: control.value for name, control in controls.items()})
        except InputError as error:
            result.value = f"<p><b>{escape(str(error))}</b></p>"

    for control in controls.values():
        control.observe(update, names="value")
    update()
    return Panel([*controls.values(), result], lambda: result.value)


def image_html(fig: Figure) -> str:
    """A figure as an image that needs no file."""
    file = BytesIO()
    fig.savefig(file, format="png")
    return f'<img style="max-width:100%" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'
