"""All task families, and all tasks by the names that commands and recipes use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from bertlab.config import BertConfig, classes_of, cross_encoder_fields
from bertlab.errors import InputError, brief
from bertlab.inputs.spans import MAX_LENGTH
from bertlab.io.files import present
from bertlab.io.json_files import read_json
from bertlab.io.locate import locate
from bertlab.model.base import PretrainedModel, best_device
from bertlab.tasks.base import NamedTask, Task
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.embedding import EmbeddingTask
from bertlab.tasks.sequence import SequenceTask, problem_of
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask
from bertlab.tokenizer import Tokenizer

RECIPE = "recipe.json"
FAMILIES: list[type[Task]] = []
TASKS: dict[str, NamedTask] = {}
UNLISTED: dict[str, NamedTask] = {}
Family = TypeVar("Family", bound=type[Task])


def register(family: Family, listed: bool = True) -> Family:
    """Make a family known under its names. Also a class decorator.

    All commands offer it, unless it is not `listed`: then only a recipe that names its task finds it.
    """
    if taken := (TASKS | UNLISTED).keys() & family.names.keys():
        raise ValueError(f"{family.__name__}: there is a task {min(taken)!r} already")
    if listed:
        FAMILIES.append(family)
    known = TASKS if listed else UNLISTED
    known.update({name: NamedTask(**vars(task), family=family) for name, task in family.names.items()})
    return family


# a new family of bertlab's own: one more here
for _family in (SequenceTask, TokenTask, SpanTask, ChoiceTask, EmbeddingTask):
    register(_family)


def find_task(name: str) -> NamedTask:
    """Return the task of that name. InputError lists the names there are."""
    if task := (TASKS | UNLISTED).get(name):
        return task
    raise InputError(f"there is no task {name!r}: choose one of {', '.join(TASKS)}")


def foreign_options(family: type[Task]) -> list[str]:
    """Return the fields of FinetuneRecipe that other families heed and this one does not."""
    return sorted(frozenset().union(*(other.options for other in FAMILIES)) - family.options)


def open_task(model: str | Path, device: str = "cpu") -> tuple[PretrainedModel, Task]:
    """Open a fine-tuned checkpoint (a bundled name, a folder or a hub id) with its head and its task.

    >>> model, task = open_task("storyworld-tiny-sentiment")
    >>> list(task.predict(model, [TextExample("1", "The soup was good.")]))

    `device` may be "auto": a GPU if there is one. InputError: the checkpoint has no head for a task, or not all of it.
    """
    folder = locate(model)
    family = family_of(folder)
    if family is None:
        raise InputError(f"{model} has no head for a task: fine-tune it first (bertlab finetune)")
    if device == "auto":
        device = best_device()
    opened = family.head.trained(model, device, advice="fine-tune it first (bertlab finetune)")
    return opened, task_of(family, folder, opened.config, Tokenizer.from_pretrained(model))


def task_of(family: type[Task], folder: Path, config: BertConfig, tokenizer: Tokenizer) -> Task:
    """Return the task of a model that is open, with the lengths of the run in its folder; without a run, all positions
    are read, and of questions the paper's 384 tokens. InputError: it gives numbers that bertlab would not make."""
    if family is SequenceTask and problem_of(config) == "regression":
        _check_activation(folder)
    recipe = read_json(folder / RECIPE) if present(folder / RECIPE) else {}
    positions = config.max_position_embeddings
    usual = MAX_LENGTH if issubclass(family, SpanTask) else positions
    max_length = min(_whole(recipe, "max_length", usual, folder), positions)
    task = family(tokenizer, max_length, _whole(recipe, "stride", 0, folder))
    task.labels = list(config.label2id)
    task.learned = TASKS.get(str(recipe.get("task")))
    if task.learned and len(task.given) > 1:  # the same head judges texts or pairs; the run folder says which
        task.given = tuple(form for form in task.given if ("pair" in form) == task.learned.pairs)
    return task


def family_of(model: str | Path) -> type[Task] | None:
    """Return the family of a checkpoint's head, by its config.json; None where no family has such a head."""
    kinds = classes_of(locate(model))
    return next((family for family in FAMILIES if family.head.__name__ in kinds), None)


def _check_activation(folder: Path) -> None:
    """Raise InputError for a cross-encoder of sentence-transformers whose numbers are a function of its logits, such as
    their sigmoid: bertlab gives the logits."""
    for name, value in cross_encoder_fields(folder).items():
        named = value.get("activation_fn") if isinstance(value, dict) else value
        if named and str(named).rpartition(".")[2] == "Identity":
            return
        if named:
            advice = "give it 'torch.nn.modules.linear.Identity' to read the logits"
            raise InputError(f"{folder / 'config.json'}: {name} asks for {brief(named)}, which bertlab lacks; {advice}")


def _whole(recipe: Mapping[str, Any], name: str, default: int, folder: Path) -> int:
    """Return a length in tokens from the recipe of a folder. InputError: it is not a whole number."""
    value = recipe.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < min(default, 1):
        raise InputError(f"{folder / RECIPE}: {name} must be a positive whole number, not {brief(value)}")
    return value
