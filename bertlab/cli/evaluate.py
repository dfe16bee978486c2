"""What `bertlab evaluate` does: a checkpoint is measured by what it was made for."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.cli.finetune import WORLD_TEST
from bertlab.cli.pretrain import read_material, say
from bertlab.errors import InputError
from bertlab.evaluation.held_out import Learned
from bertlab.evaluation.measures import SECOND_TASK_MEASURES
from bertlab.io.gate import present, read_json
from bertlab.io.locate import locate
from bertlab.model import BertForPreTraining
from bertlab.tasks.files import FileOptions, naming
from bertlab.tasks.registry import family_of, open_task
from bertlab.tasks.sequence import problem_of
from bertlab.tokenizer import Tokenizer


def evaluate_model(
    name: str,
    text: Sequence[Path] = (),
    data: Path | None = None,
    columns: FileOptions = FileOptions(),  # noqa: B008 (frozen, so safe to share)
) -> dict[str, float]:
    """Measures of a bundled model, a folder or a hub id."""
    if family_of(name):
        if text:
            raise InputError(f"{name} was fine-tuned: measure it with --data FILE, not --text")
        return evaluate_task(name, data, columns)
    if data and data.is_file():
        raise InputError(f"{name} has no head for labelled examples: fine-tune it first, or leave out --data")
    material, tokenizer = read_material(text, data), Tokenizer.from_pretrained(name)
    return material.measure(BertForPreTraining.from_pretrained(name), tokenizer, learned(name))


def evaluate_task(name: str, data: Path | None, columns: FileOptions) -> dict[str, float]:
    """Measures of a fine-tuned model on a file, or on held-out combinations of the storyworld if it learned there."""
    model, task = open_task(name, device="auto")
    known = task.learned
    if data:
        options = columns.reading(problem_of(model.config), known.pairs if known else None)
        examples = list(task.read_examples(data, options))
        if options.skipped and options.skipped.count:
            say(str(options.skipped))
    elif known and known.storyworld:
        examples = list(islice(known.storyworld(0, WORLD_TEST, "test"), WORLD_TEST))
    else:
        raise InputError(f"{name} was not taught a task of the storyworld: measure it with --data FILE")
    with naming(data or name):
        task.check(examples, model.config)
    predictions = list(task.predict(model, tqdm(examples, unit="example", leave=False)))
    return task.measures(examples, predictions)


def learned(name: str) -> Learned:
    """What run folders and their snapshots tell of it; others hold the paper's."""
    path = locate(name) / "recipe.json"
    if not present(path):
        return Learned()
    told = read_json(path)
    try:
        found = Learned(told.get("second_task", "next"), int(told.get("max_tokens", Learned.max_tokens)))
        if found.second_task not in SECOND_TASK_MEASURES or found.max_tokens < 5:
            raise ValueError(f"second_task={found.second_task!r}, max_tokens={found.max_tokens}")
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    return found
