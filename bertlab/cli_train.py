"""The subcommands that train: every one a dataclass, its fields the arguments, its text the help."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from bertlab.tasks.file_options import FileOptions

Positional = tyro.conf.Positional
DEVICES = Literal["auto", "cpu", "cuda", "mps"]
PRECISIONS = Literal["auto", "float32", "bfloat16"]
Settings = tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]]
Flat = tyro.conf.OmitArgPrefixes  # options of a part without its name before them


@dataclass(frozen=True)
class Pretrain:
    """Train a BERT from random weights: masked words and next sentences.

    Learns from the small world that comes with bertlab, or from text files of yours. Writes a run folder
    that is itself a checkpoint: open it by its path in the explorer or in from_pretrained.
    """

    recipe: Positional[str] = ""
    """storyworld-tiny, storyworld-live, own-text (the default with --text or --store), bert-base (the paper's, with
    --text or --store), english-mini (with --data) or english (with --data too; fifty million words)."""
    text: tuple[Path, ...] = ()
    """Text files (.txt, .md) or folders to learn from, instead of the storyworld; or the word pydoc: the
    docstrings of Python and of the installed packages, over 10 MB of real English."""
    data: Path | None = None
    """The folder of the public English corpora, for english-mini: novels, Wikipedia, speech and writing; and for
    english, which makes a token store beside the run folder: also fiction, more of Wikipedia, and film reviews."""
    store: Path | None = None
    """A token store to learn from, with its vocabulary: the folder that bertlab tokenize made."""
    out: Path | None = None
    """The run folder; runs/RECIPE if not given."""
    steps: int | None = None
    """Number of steps, instead of the recipe's."""
    minutes: float | None = None
    """Stop after so many minutes, with the learning rate brought down in time."""
    batch_size: int | None = None
    """Pairs of texts in a step, instead of the recipe's."""
    learning_rate: float | None = None
    """Top learning rate, instead of the recipe's."""
    seed: int | None = None
    """Seed of weights, pairs and masks, instead of the recipe's."""
    set: Settings = ()
    """Any other field of the recipe, as FIELD=VALUE: second_task=none masking.rate=0.4 phases=0.9,128 ...; the fields
    are those of PretrainRecipe, in bertlab/training/recipes.py."""
    half: bool = False
    """Save in 16 bits (as the bundled models are): half the size."""
    resume: bool = False
    """Go on with the run in the run folder, after a kill or Ctrl-C; give the same options as before."""
    save_every: int = 500
    """Save what a run can go on from every so many steps."""
    keep: int = 2
    """How many of these to keep."""
    tensorboard: bool = False
    """Write the figures of metrics.csv for TensorBoard too: tensorboard --logdir RUN-FOLDER."""
    device: DEVICES = "auto"
    """Where to train; auto takes a GPU if there is one."""
    devices: int = 1
    """How many of them train together, each on its share of every batch (several machines: docs/pretraining.md)."""
    precision: PRECISIONS = "auto"
    """Number format of matrix products; auto measures which one is faster on this machine."""
    micro_batch: int | None = None
    """Pairs of texts that a device works on at a time, where a step's do not fit; what is learned stays the same."""
    compiled: bool = False
    """Have torch.compile fuse the layers, for a long run on a GPU; needs a C++ compiler."""
    unpadded: bool = False
    """Keep padding out of all layers on a GPU too, where its texts differ much in length."""
    gradient_checkpointing: bool = False
    """Take less memory and a third more work, for a large model."""

    def run(self) -> None:
        from bertlab.training.commands import run_pretrain

        run_pretrain(self)


@dataclass(frozen=True)
class Tokenize:
    """Turn text that may be larger than memory into a token store, which pretrain --store learns from.

    Stopped on the way and called again in the same way, it goes on where it was.
    """

    text: Positional[tuple[Path, ...]] = ()
    """Text files (.txt, .md) or folders; or the words pydoc (docstrings, as in pretrain) and storyworld."""
    dataset: str | None = None
    """Instead of these a data set of the hub, streamed: org/name or org/name/configuration, or the folder of one."""
    column: str = "text"
    """The column that holds its text; a row is a document."""
    model: str = "english-mini"
    """Whose vocabulary to take: a bundled name, a folder or a hub id."""
    out: Path = Path("store")
    """The folder to make."""
    processes: int = 1
    """How many tokenize at a time."""

    def run(self) -> None:
        from bertlab.training.commands import run_tokenize

        run_tokenize(self)


@dataclass(frozen=True)
class Finetune:
    """Teach a pretrained model a task, on examples of yours or of the small world that comes with bertlab.

    Writes a run folder that is itself a checkpoint, with report.md: figures with intervals, confusions, the worst
    examples. The checkpoint that was best on the dev set is the one that is kept.
    """

    task: Positional[str] = "qa"
    """sentence: a class, a number or several classes for each text; pair: the same for two texts; token: a label for
    each word; qa: questions whose answer is a span of a passage; choice: which of several continuations is right. Of
    the small world: sentiment, entailment, matching, entities, qa, choice."""
    model: str = "storyworld-tiny"
    """The pretrained model: a bundled name, a folder or a hub id."""
    train: Path | None = None
    """Examples to learn from: CSV, TSV or JSON lines (sentence, pair, choice), CoNLL columns (token), SQuAD JSON (qa);
    the small world's own if not given."""
    dev: Path | None = None
    """Examples to choose the best checkpoint by; a tenth of the training file if not given."""
    test: Path | None = None
    """Examples to measure it on in the end; those of --dev if not given."""
    files: Flat[FileOptions] = FileOptions()
    dataset: str | None = None
    """Instead of files a data set of the hub: sst2, mrpc, mnli, squad, wnut_17, swag ..., or org/name with its columns;
    or the folder of one."""
    out: Path | None = None
    """The run folder; runs/MODEL-TASK if not given."""
    epochs: float | None = None
    """How often to read all examples; 3 if not given, more where that makes fewer than 200 steps."""
    steps: int | None = None
    """Number of steps, instead of epochs."""
    batch_size: int | None = None
    """Examples in a step; 32 if not given."""
    learning_rate: float | None = None
    """Top learning rate; if not given, what suits the model's width."""
    max_length: int | None = None
    """Tokens of a row; 128 if not given, 384 for qa."""
    seed: int | None = None
    """Seed of the new head and of the order of examples."""
    grid: bool = False
    """Try the paper's settings (3 learning rates, batches of 16 and 32, 2 to 4 epochs) and keep the best on dev."""
    set: Settings = ()
    """Any other field of the recipe, as FIELD=VALUE: pooling=mean layer_mix=sum-last-4 token_decoder=crf freeze=encoder
    problem=regression label_smoothing=0.1 optim.layer_decay=0.9 patience=3 ...; the fields are those of FinetuneRecipe,
    in bertlab/training/recipes.py."""
    half: bool = False
    """Save in 16 bits (as the bundled models are): half the size."""
    resume: bool = False
    """Go on with the run in the run folder, after a kill or Ctrl-C; give the same options as before."""
    device: DEVICES = "auto"
    """Where to train; auto takes a GPU if there is one."""
    precision: PRECISIONS = "auto"
    """Number format of matrix products; auto measures which one is faster on this machine."""

    def run(self) -> None:
        from bertlab.training.task_commands import run_finetune

        run_finetune(self)
