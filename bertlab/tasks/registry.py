"""The tasks by the names that commands and recipes call them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from bertlab.config import classes_of
from bertlab.corpora import storyworld
from bertlab.errors import InputError
from bertlab.inputs.spans import MAX_LENGTH
from bertlab.io.gate import brief, present, read_json
from bertlab.io.locate import locate
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Task
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class Name:
    """A family, what it is for in words, and the storyworld's examples of it (seed, count, split)."""

    family: type[Task]
    about: str
    world: Callable[[int, int, str], Iterator] | None = None
    pairs: bool = False  # of two texts each


NAMES = {
    "sentence": Name(SequenceTask, "a class, a number or several classes for each text"),
    "pair": Name(SequenceTask, "the same for each pair of texts", pairs=True),
    "token": Name(TokenTask, "a label for each word"),
    "qa": Name(SpanTask, "questions whose answer is a span of a passage", storyworld.questions),
    "choice": Name(ChoiceTask, "which of several continuations is right", storyworld.choices),
    "sentiment": Name(SequenceTask, "what a text thinks of its subject", storyworld.sentiment),
    "entailment": Name(
        SequenceTask,
        "whether the second text follows from the first",
        storyworld.entailment,
        pairs=True,
    ),
    "matching": Name(SequenceTask, "whether two texts mean the same", storyworld.matching, pairs=True),
    "entities": Name(TokenTask, "names and what they name", storyworld.entities),
}


def make_task(family: type[Task], tokenizer: Tokenizer, max_length: int, stride: int = 0) -> Task:
    """The task of that family; `stride` is for long passages (0: a third of `max_length`)."""
    return SpanTask(tokenizer, max_length, stride or None) if family is SpanTask else family(tokenizer, max_length)


def named(name: str) -> Name:
    if name not in NAMES:
        raise InputError(f"there is no task {name!r}: choose one of {', '.join(NAMES)}")
    return NAMES[name]


def open_task(model: str | Path, device: str = "cpu") -> tuple[PretrainedModel, Task]:
    """A fine-tuned checkpoint (a bundled name, a folder or a hub id) with its head, and the task that reads for it.

    >>> model, task = open_task("storyworld-tiny-sentiment")
    >>> list(task.predict(model, [TextExample("1", "The soup was good.")]))

    `device` may be "auto": a GPU if there is one. InputError for one without a head of a task.
    """
    folder = locate(model)
    family = family_of(folder)
    if family is None:
        raise InputError(f"{model} has no head for a task: fine-tune it first (bertlab finetune)")
    if device == "auto":
        device = torch.accelerator.current_accelerator(check_available=True) or "cpu"
    opened = family.head.from_pretrained(model, device=device)
    recipe = folder / "recipe.json"
    max_length = min(_whole(recipe, "max_length", MAX_LENGTH), opened.config.max_position_embeddings)
    return opened, make_task(family, Tokenizer.from_pretrained(model), max_length, _whole(recipe, "stride", 0))


def family_of(model: str | Path) -> type[Task] | None:
    """The family that a checkpoint was fine-tuned for, as its config.json says; None for one without such a head."""
    kinds = classes_of(locate(model))
    families = (SequenceTask, TokenTask, SpanTask, ChoiceTask)
    return next((family for family in families if family.head.__name__ in kinds), None)


def taught(model: str | Path) -> str:
    """The name of the task that a run folder learned; "" for another checkpoint."""
    name = _recorded(locate(model) / "recipe.json").get("task")
    return name if isinstance(name, str) and name in NAMES else ""


def _recorded(recipe: Path) -> dict:
    """The fields of a recipe.json; none where there is no such file."""
    return read_json(recipe) if present(recipe) else {}


def _whole(recipe: Path, name: str, default: int) -> int:
    """A length in tokens that a recipe gives. InputError for anything but a whole number."""
    value = _recorded(recipe).get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < min(default, 1):
        raise InputError(f"{recipe}: {name} must be a positive whole number, not {brief(value)}")
    return value
