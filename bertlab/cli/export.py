"""`bertlab export`: a checkpoint for ONNX Runtime, or as one plain model folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bertlab.cli.evaluate import file_examples
from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Flat, Positional
from bertlab.errors import InputError
from bertlab.tasks.files import FileOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bertlab.model.base import PretrainedModel
    from bertlab.tasks.base import Task


@dataclass(frozen=True)
class Export:
    """Write a model for ONNX Runtime, with its config and tokenizer, and compare both on 200 inputs; or an adapter
    merged into its base, as a folder that transformers opens."""

    model: Positional[str]
    """A bundled name, a folder or a hub id."""
    out: Path
    """A folder, or the .onnx file itself, which gets config and tokenizer beside it."""
    to: Literal["onnx", "transformers"] = "onnx"
    """onnx: a file for ONNX Runtime; transformers: a whole model folder, in which an adapter is part of its base."""
    int8: bool = False
    """Quantise to 8-bit integers, by ONNX Runtime's own dynamic quantisation."""
    data: Path | None = None
    """Labelled examples, as evaluate takes them: the model and the export are both measured on them."""
    files: Flat[FileOptions] = FileOptions()

    def run(self) -> None:
        from bertlab.deploy.export import check_place, export_folder, export_model, place_of

        if self.to == "transformers":
            if self.int8 or self.data:
                raise InputError("--to transformers writes the model as it is: leave out --int8 and --data")
            export_folder(self.model, self.out)
            return say(f"wrote {self.out}")
        folder, _ = place_of(self.out)
        check_place(folder, self.model)
        labelled = read_labelled(self.model, self.data, self.files) if self.data else None  # before the long work
        exported = export_model(self.model, self.out, self.int8, progress=True)
        print(exported.agreement)
        if labelled:
            print_measures_of_both(*labelled, exported.twin)
        say(f"wrote {exported.file} ({exported.size / 1e6:.1f} MB)")


def read_labelled(name: str, data: Path, files: FileOptions) -> "tuple[PretrainedModel, Task, Sequence]":
    """Return the model, its task and the labelled examples of a file. InputError: they are no examples for it."""
    from bertlab.tasks.registry import open_task

    model, task = open_task(name)
    return model, task, file_examples(task, model.config, data, files)


def print_measures_of_both(
    model: "PretrainedModel", task: "Task", examples: "Sequence", twin: "PretrainedModel"
) -> None:
    """Print each measure of the model and of its export on labelled examples."""
    from bertlab.evaluation.wording import meaning, without_bounds

    second = model.config.id2label.get(1, "")
    mine, theirs = (task.measures(examples, list(task.predict(one, examples))) for one in (model, twin))
    print(f"{'':40} {'model':>8} {'export':>8}")
    for measure in without_bounds(mine):  # an interval is that of the examples and not of the export
        print(f"{meaning(measure, second) or measure:40} {mine[measure]:8.4f} {theirs[measure]:8.4f}")
