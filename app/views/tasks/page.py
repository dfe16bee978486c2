"""Tasks: one text, and what BERTs fine-tuned for five tasks make of it; or a whole file."""

from collections.abc import Callable
from functools import partial

from app.shared.model import models
from app.shared.page import layout
from app.shared.page.markdown import explained
from app.views.tasks import answers, names, next_sentence, opinion, whole_file

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
SCORE = (
    "The score is the log-odds of the label, in nats; for a model that predicts a number, that number. The gradients "
    "are followed from a baseline of nothing but [PAD] to your text, and the attributions must add up to the whole "
    "difference: the check under each picture shows how nearly they do. Colours are scaled to the largest attribution "
    "of each text."
)

layout.heading(
    "Tasks",
    "A BERT that was fine-tuned judges your text, finds its names, answers from it, or compares it with another one. "
    "*Integrated gradients* tell which words contributed: blue ones to the answer, orange ones against it.",
    help=f"{SCORE}\n\n{explained(SCORE)}",
)
usual = next((name for name, task in LEARNED.items() if models.own(task)), None)
with layout.open_tab("tasks", VIEWS, usual) as name:
    VIEWS[name]()
