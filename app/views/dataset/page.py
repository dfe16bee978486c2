"""Data sets: the predictions of a model for many examples, beside their labels."""

from app.shared.page import layout
from app.shared.text import fit
from app.views.dataset import by_slice, confusion, label_names, rows, source
from app.views.dataset.judged import judge, show_measures

VIEWS = {"Rows": rows, "Slices": by_slice, "Confusion": confusion}


def show() -> None:
    data = source.choose()
    judged = judge(label_names.translated(data)) if data else None
    if judged is None:
        return
    if judged.data.file:
        fit.say_learned(judged.data.kind.task, judged.data.loaded)
    show_measures(judged)
    with layout.open_tab("dataset", VIEWS) as name:
        VIEWS[name].show(judged)


layout.heading(
    "Data sets",
    "One example can be luck. Let a fine-tuned BERT read a whole file, look at its errors first, and open any row in "
    "another page to see why.",
)
with layout.box():
    show()
