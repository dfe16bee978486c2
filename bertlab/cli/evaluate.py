"""`bertlab evaluate`: a checkpoint is measured by what it was made for; `bertlab evaluate card`: its maker's words."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli.shared.messages import print_result, say
from bertlab.cli.shared.settings import Flat, Positional
from bertlab.errors import InputError
from bertlab.inputs.features import cut_words
from bertlab.io.files import present
from bertlab.io.locate import locate
from bertlab.model.base import open_weights
from bertlab.tasks.files import FileOptions, naming
from bertlab.tokenizer import Tokenizer
from bertlab.training.run_settings import PredictSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bertlab.config import BertConfig
    from bertlab.evaluation.held_out import Learned
    from bertlab.tasks.base import Task


@dataclass(frozen=True)
class Evaluate:
    """Measure a checkpoint, by what it was made for: on held-out text, beside simpler guesses; a fine-tuned one on
    labelled examples. `bertlab evaluate card` adds your sections to the model card of a run."""

    model: Positional[str] = "storyworld-tiny"
    """A bundled name, a folder or a hub id."""
    text: tuple[Path, ...] = ()
    """Text files to hide words in, instead of the storyworld; every 20th document is measured."""
    data: Path | None = None
    """Labelled examples, in a file as finetune takes them; the storyworld's own if the model learned from these. Or,
    for a model that fills in masks, the folder of the public English corpora: it is measured by genre."""
    files: Flat[FileOptions] = FileOptions()
    json: bool = False
    """Print JSON."""
    settings: Flat[PredictSettings] = PredictSettings()

    def run(self) -> None:
        from bertlab.evaluation.wording import second_label

        with self.settings.computing() as device:
            measures = self._measures(device)
        print_result(measures, self.json, second_label(self.model))

    def _measures(self, device: str) -> dict[str, float]:
        from bertlab.cli.shared.material import check_material, read_material
        from bertlab.predict import open_masked
        from bertlab.tasks.registry import family_of

        if family_of(self.model):
            if self.text:
                raise InputError(f"{self.model} was fine-tuned: measure it with --data FILE, not --text")
            return evaluate_task(self.model, self.data, self.files, device, self.settings.batch_size)
        if self.data and self.data.is_file():
            raise InputError(f"{self.model} has no head for labelled examples: fine-tune it first, or leave out --data")
        if self.settings.batch_size:
            raise InputError("--batch-size: means nothing for masked words, which are measured 50 pairs at a time")
        check_material(self.text, self.data)
        model, tokenizer = open_masked(self.model, device), Tokenizer.from_pretrained(self.model)
        what = learned(self.model)
        return read_material(self.text, self.data).measure(model, tokenizer, what)


def evaluate_task(
    name: str, data: Path | None, files: FileOptions, device: str = "auto", batch_size: int | None = None
) -> dict[str, float]:
    """Measure a fine-tuned model on a file, or on held-out combinations of the storyworld if it learned there."""
    from tqdm.auto import tqdm

    from bertlab.tasks.registry import open_task

    model, task = open_task(name, device)
    task.batch_size = batch_size
    examples = file_examples(task, model.config, data, files) if data else world_examples(name, task, model.config)
    predictions = list(task.predict(model, tqdm(examples, unit="example", leave=False)))
    if task.cut:
        say(cut_words(task.cut, len(examples), task.cut_at))
    if note := needless_no_answer(model.config, examples, predictions):
        say(note)
    return task.measures(examples, predictions)


def needless_no_answer(config: "BertConfig", examples: "Sequence", predictions: "Sequence") -> str:
    """Return a note on a model without a threshold of its own, such as one of SQuAD 1.1, that gave "no answer" though
    every question has one; else ""."""
    if config.no_answer_threshold or any(getattr(example, "is_impossible", True) for example in examples):
        return ""
    count = sum(not prediction.text for prediction in predictions)
    advice = 'put "no_answer_threshold": 1e9 into its config.json for a model that always answers (SQuAD 1.1)'
    return f"no answer to {count:,} of {len(examples):,} questions, though each has one: {advice}" if count else ""


def file_examples(task: "Task", config: "BertConfig", data: Path, files: FileOptions) -> "Sequence":
    """Read the examples of a file, as the model was taught to, that it can be measured by; say what was left out."""
    from bertlab.cli.shared.doubts import quoted
    from bertlab.cli.shared.examples import known_examples, unread_columns
    from bertlab.tasks.sequence import problem_of

    options = files.reading(problem_of(config), task.learned.pairs if task.learned else None)
    examples = list(task.read_examples(data, options))
    with naming(data):
        known, left_out = known_examples(task, examples, config, files.on_error == "skip")
    doubts = [*quoted(examples), *unread_columns(data, files, examples)]
    warnings = (f"warning: {data}: {warning}" for warning in doubts)
    for message in filter(None, (options.skipped, left_out, *warnings)):
        say(message)
    return known


def world_examples(name: str, task: "Task", config: "BertConfig") -> list:
    """Make held-out examples of the storyworld's task that the model learned."""
    from bertlab.cli.shared.examples import WORLD_TEST

    if task.learned is None or (made := task.learned.at_hand) is None:
        raise InputError(f"{name} was not taught a task of the storyworld: measure it with --data FILE")
    examples = list(islice(made(0, WORLD_TEST, "test"), WORLD_TEST))
    with naming(name):
        task.check(examples, config)
    return examples


def learned(name: str) -> "Learned":
    """Return what a run folder or snapshot says that its model learned; for others, what the paper's learned, as far
    as its heads are there."""
    from bertlab.evaluation.held_out import Learned
    from bertlab.inputs.pairs import least_tokens
    from bertlab.training.run_files import read_record

    path = locate(name) / "recipe.json"
    recipe = read_record(path) if present(path) else {}
    if "cls.seq_relationship.weight" not in open_weights(path.parent):
        recipe["second_task"] = "none"
    found = Learned(recipe.get("second_task", "next"), recipe.get("max_tokens", Learned.max_tokens))
    if found.max_tokens < (least := least_tokens(found.second_task)):
        raise InputError(f"{path}: max_tokens is {found.max_tokens}, which must be at least {least}")
    return found


@dataclass(frozen=True)
class Card:
    """Add your sections of a model card (Mitchell et al. 2019) to the card that a run wrote. None of the nine may be
    empty."""

    run_folder: Positional[Path]
    """The folder of a finished run."""
    words: Path = Path("card.md")
    """Your sections, as bertlab new lays them out: ## Model details, ## Intended use, and seven more."""

    def run(self) -> None:
        from bertlab.evaluation.card_sections import add_sections

        add_sections(self.run_folder, self.words)
        say(f"wrote {self.run_folder / 'README.md'}")
