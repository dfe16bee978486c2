"""The labelled examples of a fine-tuning: the user's files, a data set of the hub, or the storyworld."""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.cli.shared.doubts import contradicted, quoted, repeated
from bertlab.cli.shared.material import STORYWORLD, UNKNOWN
from bertlab.cli.shared.messages import say
from bertlab.config import BertConfig
from bertlab.corpora.examples import TextExample
from bertlab.corpora.labelled.columns import TEXTS, found_columns
from bertlab.corpora.labelled.hub_datasets import read_hub
from bertlab.corpora.labelled.parts import GROUPED, groups_of, shared_texts
from bertlab.corpora.labelled.records import read_records
from bertlab.corpora.reading import Skipped, rows
from bertlab.errors import InputError
from bertlab.evaluation.report import plain
from bertlab.io.files import INHERITED
from bertlab.tasks.base import Task, some
from bertlab.tasks.files import FileOptions, naming
from bertlab.tasks.registry import TASKS, find_task
from bertlab.tasks.sequence import UnknownLabelError
from bertlab.tokenizer import Tokenizer
from bertlab.training.finetune_recipe import FinetuneRecipe

DEV_SHARE, MOST_DEV = 0.1, 2000  # of the training file, if no dev file is given
FEW = 50  # examples to choose by
LOOKED_AT = 200  # examples
CUT = 0.1  # share of examples; above it the user is warned
SEPARATOR = re.compile(r"\s*[,;|]\s*")
MISSING = ("NA", "N/A", "None", "null", "NULL")  # what R, spreadsheets and Python write for no value
RARE, NAMED = 2, 5  # a label is rare that occurs so often at most; rare ones that are named
CHOSEN = "The checkpoint was chosen by the examples that it is measured on, which flatters it a little."
ONE_TEXT = "All examples are on the same text, so the checkpoint was chosen on the text that it learned from."
ID = re.compile(r"(.*[_ ])?(q|pair)?(id|idx|index)\d*|", re.IGNORECASE)  # of a row; pandas names it ""
WORLD_DEV, WORLD_TEST = 500, 2000  # examples
DOCSTRINGS = (
    "The text is docstrings of Python and of the packages that were installed, under licences of their own; only what "
    "the weights learned from them is kept. It is measured on functions that training never shows."
)


@dataclass(frozen=True)
class Sources:
    """Where the examples come from, as the command line names it."""

    train: Path | None = None
    dev: Path | None = None
    test: Path | None = None
    dataset: str | None = None
    files: FileOptions = FileOptions()


@dataclass
class Sets:
    """Examples to learn from, to choose the best checkpoint by, to measure it on; what a report says of them; and
    the files or data sets that they come from, for messages."""

    train: Sequence
    dev: Sequence
    test: Sequence
    notes: list[str]
    sources: tuple[str | Path, str | Path, str | Path] = ("train", "dev", "test")


def read_sets(sources: Sources, recipe: FinetuneRecipe) -> Sets:
    """Read the examples for the recipe's task. InputError if the sources contradict each other."""
    if sources.train and sources.dataset:
        raise InputError("give one of --train and --dataset")
    if sources.train:
        return file_sets(sources, sources.train, recipe)
    for option, path in (("dev", sources.dev), ("test", sources.test)):
        if path:
            raise InputError(f"--{option} {path}: needs --train, the examples to learn from")
    return hub_sets(sources.dataset, sources.files, recipe) if sources.dataset else world_sets(recipe)


def hub_sets(name: str, files: FileOptions, recipe: FinetuneRecipe) -> Sets:
    """Read the training split and the one to choose by; test splits of the hub often have no labels."""
    task, skipped = find_task(recipe.task), files.skipped()
    source, read_rows = task.family.hub_set(name, files.columns, recipe.problem), task.family.read_rows
    train, dev = (
        list(some(read_hub(source, read_rows, split, task.pairs, skipped), f"{source.address}, {split}", skipped))
        for split in ("train", source.dev)
    )
    notes = [f"{source.address}.", CHOSEN]
    note_skipped(skipped, source.address, notes)
    return Sets(train, dev, dev, notes, (source.address,) * 3)


def world_sets(recipe: FinetuneRecipe) -> Sets:
    """Make examples of the storyworld, or from docstrings; dev and test hold combinations, or functions, that train
    never shows."""
    task = find_task(recipe.task)
    world = task.at_hand
    if world is None:
        own = ", ".join(name for name, task in TASKS.items() if task.at_hand)
        raise InputError(f"finetune {recipe.task} learns from a file of yours: name it with --train (without: {own})")
    wanted = (("train", recipe.seed, recipe.examples), ("dev", 0, WORLD_DEV), ("test", 0, WORLD_TEST))
    train, dev, test = (
        list(tqdm(world(seed, count, split), f"{split} examples", count, leave=False, unit="example"))
        for split, seed, count in wanted
    )
    return Sets(train, dev, test, [STORYWORLD if task.storyworld else DOCSTRINGS])


def file_sets(sources: Sources, path: Path, recipe: FinetuneRecipe) -> Sets:
    """Read the user's files; without a dev file take a tenth of the training file, without a test file dev again."""
    notes: list[str] = []
    named_files = path, sources.dev or path, sources.test or sources.dev or path
    train = read_file(path, sources.files, recipe, notes)
    with naming(path):
        odd = [
            odd_labels(train, find_task(recipe.task).family),
            *unread_text(train, recipe),
            *contradicted(train),
            *quoted(train),
        ]
        odd += unread_pairs(path, sources.files, recipe)
    if sources.dev:
        dev = read_file(sources.dev, sources.files, recipe, notes)
    else:
        with naming(path):
            train, dev = split_off(train, recipe.seed, notes)
        notes.append(f"{len(dev):,} examples of the training file, drawn by the seed, were kept away from training.")
    if len(dev) < FEW:
        notes.append(f"Chosen by {len(dev)} examples, which tell one checkpoint from another only roughly.")
    for warning in filter(None, odd):
        warn(path, warning, notes)
    test = read_file(sources.test, sources.files, recipe, notes) if sources.test else dev
    for file, part in dict(zip(named_files, (train, dev, test), strict=True)).items():
        for warning in unread_columns(file, sources.files, part):
            warn(file, warning, notes)
    return Sets(train, dev, test, notes if sources.test else [*notes, CHOSEN], named_files)


def warn(source: str | Path, warning: str, notes: list[str]) -> None:
    """Say what is doubtful in a file, and note it for the report, without the user's folders."""
    say(f"warning: {source}: {warning}")
    notes.append(plain(f"{Path(source).name}: {warning}") + ".")


def warn_of_repeats(sets: Sets) -> None:
    """Say and note where many of the examples to measure by are also learned from."""
    measured = dict(zip(sets.sources[1:], (sets.dev, sets.test), strict=True))  # of one source, the test set alone
    for source, part in measured.items():
        for warning in repeated(sets.train, part):
            warn(source, warning, sets.notes)


def read_file(path: Path, files: FileOptions, recipe: FinetuneRecipe, notes: list[str]) -> list:
    """Read the examples of a file; add to `notes` what was left out."""
    task = find_task(recipe.task)
    options = files.reading(recipe.problem, task.pairs)
    examples = list(task.family.read_examples(path, options))
    note_skipped(options.skipped, path, notes)
    return examples


def note_skipped(skipped: Skipped | str | None, source: str | Path, notes: list[str]) -> None:
    """Say what was left out, and note it for the report, without the user's folders."""
    if skipped:
        say(skipped)
        notes.append(plain(str(skipped).replace(str(source), Path(source).name)) + ".")


def unread_pairs(path: Path, files: FileOptions, recipe: FinetuneRecipe) -> Iterator[str]:
    """Yield in words that a task of single texts leaves a usual column of second texts unread."""
    task = find_task(recipe.task)
    if task.pairs or not any(name.pairs for name in task.family.names.values()) or INHERITED.fullmatch(str(path)):
        return
    first = next(task.family.read_examples(path, files.reading(recipe.problem)), None)
    if getattr(first, "pair", None) is not None:
        yield f"{recipe.task} reads the first of two texts in each row; finetune pair reads both"


def unread_columns(path: Path, files: FileOptions, examples: Sequence) -> Iterator[str]:
    """Yield in words which columns of a file are not read, beside ids, if its pairs need no labels and have none."""
    first = examples[0]
    unlabelled = isinstance(first, TextExample) and first.pair is not None and first.label is None
    if not unlabelled or INHERITED.fullmatch(str(path)):
        return
    records = list(islice(read_records(path, files.encoding, files.skipped(), files.columns), LOOKED_AT))
    read = found_columns(files.columns, TEXTS, records[0].values, str(path), labelled=False)
    names = dict.fromkeys(name for record in records for name in record.values)
    if unread := [name for name in names if name not in (read.text, read.pair) and not ID.fullmatch(name)]:
        advice = "if one of them holds labels, name it with --label-column"
        yield f"has no labels, so all pairs count as alike; columns not read: {', '.join(unread):.80}; {advice}"


def known_examples(task: Task, examples: Sequence, config: BertConfig, skip: bool) -> tuple[Sequence, str]:
    """Return the examples with labels that the model knows, and in words what was left out; without `skip` the first
    one with another label is an InputError."""
    known, unknown = [], dict[str, None]()
    for example in examples:
        try:
            task.check([example], config)
        except UnknownLabelError as error:
            if not skip:
                raise InputError(f"{error}; --on-error skip leaves such rows out") from error
            unknown |= dict.fromkeys(error.labels)
        else:
            known.append(example)
    if not known:
        raise InputError("holds no example with a label that the model knows")
    names, count = ", ".join(map(repr, unknown)), len(examples) - len(known)
    return known, f"left out {rows(count)} with labels that the model does not know: {names}" if count else ""


def odd_labels(examples: Sequence, family: type[Task]) -> str:
    """Return in words which labels are too rare to be learned, join others, or mark examples without a label; "" of
    none."""
    counts = Counter(label for example in examples for label in family.counted_labels(example))
    found = [f"the label {label!r} occurs {('once', 'twice')[n - 1]}" for label, n in counts.items() if n <= RARE]
    found[NAMED:] = [f"{len(found) - NAMED} more are as rare"] * (len(found) > NAMED)
    split = ((label, SEPARATOR.split(label)) for label in counts)
    if joined := next((label for label, parts in split if len(parts) > 1 and counts.keys() >= {*parts}), ""):
        several = "several need --set problem=multi_label_classification, and | between them"
        found.append(f"the label {joined!r} is one, though its parts are labels, too: {several}")
    found += looking_alike(counts)
    if "-" in counts and len(counts) > 2 and "+" not in counts:
        found.append("the label '-' is learned like the others, but SNLI and OCNLI mean by it that there is none")
    if (missing := next((label for label in MISSING if label in counts), "")) and len(counts) > 2:
        found.append(f"the label {missing!r} is learned like the others, but may mean that there is none")
    return f"{', '.join(found)}; --skip-label leaves rows out by their label" if found else ""


def looking_alike(labels: Iterable[str]) -> list[str]:
    """Return in words which two labels, if any, are probably meant to be one: they differ only in case, blanks, how
    Unicode composes their letters or how a number is written."""
    seen: dict[str, str] = {}
    for label in labels:
        if (other := seen.setdefault(plain_label(label), label)) != label:
            return [f"the labels {ascii(other)} and {ascii(label)} are two, though they look alike"]
    return []


def plain_label(label: str) -> str:
    """Return what two labels have in common that look alike."""
    try:
        return repr(float(label))
    except ValueError:
        letters = unicodedata.normalize("NFKC", label).casefold()
        return "".join(letter for letter in letters if unicodedata.category(letter) not in ("Cf", "Zs"))


def unread_text(examples: Sequence, recipe: FinetuneRecipe) -> Iterator[str]:
    """Yield in words how much of the first examples the model's vocabulary lacks, and how many are cut; if much."""
    tokenizer, config = Tokenizer.from_pretrained(recipe.model), BertConfig.from_pretrained(recipe.model)
    task = find_task(recipe.task).family(tokenizer, recipe.max_length, recipe.stride)
    features = task.features(examples[:LOOKED_AT], config, learn=False)
    ids = [token for feature in features for row in feature.rows for token in row.ids]
    if (unknown := ids.count(tokenizer.unk_token_id) / len(ids)) > UNKNOWN:
        advice = "name a --model for this language or script"
        yield f"{unknown:.0%} of the tokens are unknown to {recipe.model} ([UNK]); {advice}"
    if (cut := sum(feature.cut > 0 for feature in features) / len(features)) > CUT:
        most, what = config.max_position_embeddings, "texts"
        advice = f"--max-length reads up to {most}" if recipe.max_length < most else f"{recipe.model} has no more"
        if task.cut_at != recipe.max_length:
            what, advice = "questions", "ask in fewer words"
        yield f"{cut:.0%} of the {what} are longer than {task.cut_at} tokens, and their ends are not read; {advice}"


def split_off(examples: list, seed: int, notes: list[str]) -> tuple[list, list]:
    """Return (to learn from, to choose by): about a tenth, at most 2,000, drawn by the seed.

    Examples on the same text (a passage, the first of two texts) stay together where many texts differ, even where the
    smallest such group is more than that. Those on one text alone are drawn one by one, which `notes` then say.
    """
    room = min(MOST_DEV, int(len(examples) * DEV_SHARE))
    if room < 1:
        raise InputError(f"{len(examples)} examples are too few to keep some for measuring: give a file with --dev")
    groups: Sequence = groups_of(examples) or range(len(examples))
    if isinstance(examples[0], GROUPED) and len(set(shared_texts(examples))) == 1:
        notes.append(ONE_TEXT)
    counts = Counter(groups)
    order, kept = list(counts), set[object]()
    random.Random(seed).shuffle(order)
    for group in order:
        if counts[group] <= room:
            kept.add(group)
            room -= counts[group]
    kept = kept or {min(order, key=counts.__getitem__)}
    parts: tuple[list, list] = [], []
    for example, group in zip(examples, groups, strict=True):
        parts[group in kept].append(example)
    return parts
