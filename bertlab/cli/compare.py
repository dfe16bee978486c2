"""`bertlab compare`: models that differ in one thing, with the same text, steps and fine-tuning, and several seeds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional, check_above_zero
from bertlab.errors import InputError, require
from bertlab.io.files import expanded
from bertlab.tasks.files import FileOptions, naming
from bertlab.training.engine.signals import exit_code

if TYPE_CHECKING:
    from bertlab.compare.material import Parts
    from bertlab.tasks.base import Task

FAMILIES = ("sentence", "pair", "token", "qa", "choice")
TOYS = " These are toy models{}: read the form, not the figures."
STAND_IN = ", and one task stands in for all"


@dataclass(frozen=True)
class Compare:
    """Compare ways to pretrain, with intervals and tests.

    Writes OUT/TABLE.md (a table, and for each claim of a paper: holds, reversed, or cannot tell), TABLE.csv, TABLE.json
    (with the score of every example) and TABLE.png. Each training is kept in OUT: a comparison that was stopped goes
    on with the same command, and tables share the models that they have in common.
    """

    table: Positional[str]
    """relatives: BERT, GPT, ELMo, word2vec, a denoising autoencoder, ELECTRA; objectives: what of BERT's matters;
    masking: what stands where a word is asked for; size; steps: how long; features: which layers, frozen;
    pretraining-data: how much text, and which; later: what papers after BERT changed, for as many operations."""
    seeds: int = 3
    """Pretrain and fine-tune each model so many times."""
    steps: int | None = None
    """Steps of pretraining, for those that have all; 800 if not given, with --quick 150. More bring out differences."""
    quick: bool = False
    """Toy models, one task (names in a text) and a few steps: about three minutes on two free cores (`size`, the widest
    models, and `masking`, the most, take longer), to see how it works."""
    text: tuple[Path, ...] = ()
    """Pretrain on your own text (files, or folders with their subfolders), and compare by questions on the fifth of it
    that is held out."""
    data: tuple[str, ...] = ()
    """With --text: compare by labelled examples of yours instead, as TASK=FILE, for example sentence=reviews.csv
    pair=inference.tsv (also token, qa, choice; files as for finetune). A fifth of them is the test set."""
    out: Path = Path("runs/compare")
    """The folder of all comparisons."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to train; auto takes a GPU if there is one."""

    def run(self) -> None:
        from bertlab.compare.experiment import Experiment
        from bertlab.compare.material import Material
        from bertlab.compare.report import Comparison, note_of
        from bertlab.compare.tables import FULL, QUICK, find_table
        from bertlab.corpora.documents import check_sources
        from bertlab.training.engine.devices import Devices
        from bertlab.training.run_folder import locked

        self._check()
        require("sklearn", "baselines")
        require("matplotlib", "figures")
        table, budget = find_table(self.table), QUICK if self.quick else FULL
        Devices(self.device)
        check_sources(self.text)
        if self.steps is not None:
            budget = replace(budget, recipe=replace(budget.recipe, steps=self.steps))
        out = expanded(self.out)
        with locked(out):  # nobody else compares there, and it can be written
            pass
        material = Material(budget.recipe.documents, self.text, read_labelled(self.data))
        experiment = Experiment(out, budget, material, self.device)
        try:
            results = experiment.run(table, range(self.seeds), say)
        except KeyboardInterrupt:
            say("stopped; the same command goes on with the trainings that are missing")
            raise SystemExit(exit_code()) from None
        text = "own text" if self.text else f"{budget.recipe.documents:,} documents of the storyworld"
        note = note_of(table, budget, self.seeds, text)
        if self.quick:
            note += TOYS.format("" if self.text else STAND_IN)
        own = "-own-data" if self.data else "-own-text" if self.text else ""
        comparison = Comparison(f"{self.table}{'-quick' * self.quick}{own}", table, results, note)
        comparison.write(out)
        print(comparison.markdown())
        say(f"saved to {out / comparison.name}.md, .csv, .json and .png")

    def _check(self) -> None:
        """Raise an InputError for options that contradict each other."""
        if self.seeds < 1:
            raise InputError(f"--seeds {self.seeds}: give at least 1, and 3 for a verdict")
        check_above_zero(self, ("steps",))
        if self.text and self.table == "pretraining-data":
            raise InputError("--text: the table pretraining-data compares texts of its own; leave it out")
        if self.data and not self.text:
            raise InputError("--data: needs --text, the text that the models read before they learn your examples")


def read_labelled(given: Sequence[str]) -> "dict[str, Parts]":
    """Read the examples of each TASK=FILE and divide them. InputError names what is wrong, and where."""
    from bertlab.compare.material import parts_of
    from bertlab.tasks.registry import find_task

    files: dict[str, Path] = {}
    for one in given:
        name, _, file = one.partition("=")
        if name not in FAMILIES or not file or name in files:
            raise InputError(f"--data {one}: write TASK=FILE, each task once, TASK one of {', '.join(FAMILIES)}")
        files[name] = expanded(file)
        task = find_task(name)
        task.family.check_first(files[name], FileOptions().reading(pairs=task.pairs))  # of all, before one is read
    found: dict[str, Parts] = {}
    for name, path in files.items():
        task = find_task(name)
        examples = list(task.family.read_examples(path, FileOptions().reading(pairs=task.pairs)))
        with naming(path):
            found[name] = parts_of(examples)
            check_labels(found[name], task.family)
    return found


def check_labels(parts: "Parts", family: "type[Task]") -> None:
    """Raise an InputError for a label that the examples to learn from lack."""
    labels = {name: {label for e in part for label in family.counted_labels(e)} for name, part in parts.items()}
    if rare := sorted((labels["dev"] | labels["test"]) - labels["train"]):
        raise InputError(f"the label {rare[0]!r} is in too few examples to be learned and measured: leave it out")
