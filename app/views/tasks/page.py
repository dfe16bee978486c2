"""Tasks: one text, and what BERTs fine-tuned for five tasks make of it; or a whole file."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from app.shared.model import models
from app.shared.page import layout
from app.views.tasks import answers, names, next_sentence, opinion, whole_file
from bertlab.errors import InputError

VIEWS: dict[str, Callable[[], None]] = {
    "Opinion": partial(opinion.show, "text label"),
    "Names": names.show,
    "Answers": answers.show,
    "Pairs": partial(opinion.show, "pairs"),
    "Next sentence": next_sentence.show,
    "A whole file": whole_file.show,
}
# The page opens with the task that the chosen model was fine-tuned for.
LEARNED = {"Opinion": "text label", "Names": "word labels", "Answers": "answer", "Pairs": "pairs"}
layout.heading(
    "Tasks",
    "A BERT that was fine-tuned judges your text, finds its names, answers from it, or compares it with another one.",
)
usual = None
with suppress(InputError):  # of a damaged head, which the view that needs it names
    usual = next((name for name, task in LEARNED.items() if models.own(task)), None)
with layout.open_tab("tasks", VIEWS, usual) as name:
    VIEWS[name]()
