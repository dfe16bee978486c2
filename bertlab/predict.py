"""Predictions as plain rows, as the command line prints and writes them."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.errors import InputError, printable
from bertlab.explain.text import encode
from bertlab.explain.words.fill import fill_mask, typed_masks
from bertlab.inputs.features import cut_words
from bertlab.io.atomic import atomic_lines, check_out, keep_apart
from bertlab.io.files import rereadable
from bertlab.io.locate import locate
from bertlab.model import BertForPreTraining
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Given, Prediction, Task
from bertlab.tasks.files import FileOptions
from bertlab.tasks.registry import FAMILIES, open_task
from bertlab.tokenizer import Tokenizer
from bertlab.training.run_settings import PredictSettings


def fill_in(
    text: str,
    model: str,
    top: int,
    settings: PredictSettings = PredictSettings(),  # noqa: B008 (frozen, so safe to share)
    say: Callable[[str], object] = str,
) -> list[dict]:
    """Return the `top` likeliest tokens for each [MASK], counted from 1, with their probabilities. `say` is called with
    one line where the text is cut. InputError: nothing is masked, or the model has no trained head for masked words."""
    tokenizer = Tokenizer.from_pretrained(model)
    with settings.computing() as device:
        opened = open_masked(model, device)
        rows, length = fill_rows(opened, tokenizer, text, top), opened.config.max_position_embeddings
        if encode(tokenizer, text, limit=length).dropped:
            say(cut_words(1, 1, length))
        return rows


def fill_rows(model: BertForPreTraining, tokenizer: Tokenizer, text: str, top: int) -> list[dict]:
    """As fill_in, with a model that is open. InputError also where a [MASK] stands behind the tokens that it reads."""
    fills = fill_mask(model, tokenizer, text, k=top)
    if (typed := typed_masks(text)) > len(fills):
        length = model.config.max_position_embeddings
        raise InputError(
            f"the text holds {typed} [MASK], but only {len(fills)} among the {length} tokens that the model reads: "
            "shorten it, or give it in parts"
        )
    return [
        {"mask": number, "text": printable(token), "probability": probability}
        for number, fill in enumerate(fills, start=1)
        for token, probability in zip(fill.tokens, fill.probabilities, strict=True)
    ]


def open_masked(model: str, device: str = "cpu") -> BertForPreTraining:
    """Open a model to predict masked words; that needs no trained pooler or next-sentence head."""
    advice = "choose a model with one, such as english, or pretrain one (bertlab pretrain)"
    return BertForPreTraining.trained(model, device, optional=("pooler", "nsp"), advice=advice)


def predict_one(
    model: str,
    given: Given,
    top: int = 5,
    settings: PredictSettings = PredictSettings(),  # noqa: B008 (frozen, so safe to share)
    say: Callable[[str], object] = str,
) -> list[dict]:
    """Return what a fine-tuned model predicts for one input, as rows to print. `say` is called with one line where the
    input is cut.

    `given` is what its task reads: {"text": ...}, {"text": ..., "pair": ...}, {"text": ..., "choices": (...)} or
    {"question": ..., "passage": ...}. The rows are those of Task.predict_given. InputError: the model reads something
    else, or a text is empty.
    """
    with settings.computing() as device:
        opened, task = open_task(model, device)
        task.batch_size = settings.batch_size
        check_names(task, model, given)
        check_texts(task.tokenizer, given)
        rows = task.predict_given(opened, given, top)
        if task.cut:
            say(cut_words(1, 1, task.cut_at))
        return rows


def is_readable(names: Iterable[str]) -> bool:
    """Return whether there is a family that makes a prediction from just these inputs."""
    return any(set(names) == set(form) for family in FAMILIES for form in family.given)


def check_names(task: Task, model: str, given: Given) -> None:
    """Raise InputError where the task does not read just these inputs."""
    if any(set(given) == set(form) for form in task.given):
        return
    options = {name: name if name == "text" else f"--{name}" for form in (*task.given, given) for name in form}
    forms = ", or ".join(" and ".join(options[name] for name in form) for form in task.given)
    foreign = " and ".join(options[name] for name in given if not any(name in form for form in task.given))
    advice = f"Leave out {foreign}" if foreign else "Give just that"
    reads = f"it has a {task.head.__name__}, which reads {forms}"
    raise InputError(f"{model} cannot answer that: {reads}. {advice}, or name another --model")


def check_texts(tokenizer: Tokenizer, given: Given) -> None:
    """Raise InputError for a text without any token."""
    for name, value in given.items():
        texts = {name: value} if isinstance(value, str) else {f"choice {i}": text for i, text in enumerate(value, 1)}
        for part, text in texts.items():
            if not tokenizer.tokenize(text):
                raise InputError(f"the {part} is empty: write at least one word")


def predict_file(
    model: str,
    path: Path,
    out: Path,
    files: FileOptions,
    settings: PredictSettings = PredictSettings(),  # noqa: B008
) -> tuple[int, str]:
    """Write the prediction for each example of a file as a line of JSON, while the examples are read; the file appears
    when it is complete. Return the number of predictions, and in words what was left out.

    Another format of the model's family is chosen by the ending of `out`: .conll gives words and labels as columns.
    """
    keep_apart(out, [path, locate(model)])
    check_out(out)
    with settings.computing() as device:
        opened, task = open_task(model, device)
        task.batch_size = settings.batch_size
        as_text = file_format(task, model, out)
        options = files.reading(pairs=task.learned.pairs if task.learned else None, labelled=False)
        path = rereadable(path)
        if files.on_error == "stop":  # before hours of predicting, whose results a bad line would discard
            deque(task.read_new(path, options), maxlen=0)
        examples, ids = task.read_new(path, options), Counter[str]()
        predictions = named_predictions(opened, task, tqdm(examples, unit="example", delay=1), ids)
        count = atomic_lines(out, (as_text(identity, prediction) for identity, prediction in predictions))
    notes = (str(options.skipped or ""), repeated(ids), cut_words(task.cut, count, task.cut_at))
    return count, "; ".join(filter(None, notes))


def repeated(ids: Counter[str]) -> str:
    """Return in words which id several examples have; "" if each has its own."""
    name, count = ids.most_common(1)[0] if ids else ("", 0)
    return f"{count:,} examples have the id {name!r:.80}: go by the order of the lines" if count > 1 else ""


def file_format(task: Task, model: str, out: Path) -> Callable[[str, Prediction], str]:
    """Return what turns (id, prediction) into lines of the file. InputError: its ending is that of another family."""
    if out.suffix in task.line_formats:
        return lambda identity, prediction: task.line_formats[out.suffix](prediction)
    if out.suffix in (".csv", ".tsv", ".parquet"):
        raise InputError(f"{out}: predictions are lines of JSON; name the file .jsonl")
    if any(out.suffix in family.line_formats for family in FAMILIES):
        raise InputError(f"{out}: a {task.head.__name__}, as {model} is, does not predict what {out.suffix} files hold")
    return json_line


def json_line(identity: str, prediction: Prediction) -> str:
    return json.dumps({"id": identity, **prediction.as_row()}, ensure_ascii=False) + "\n"


def named_predictions(
    model: PretrainedModel, task: Task, examples: Iterable, counts: Counter[str]
) -> Iterator[tuple[str, Prediction]]:
    """Yield (id, prediction) of each example, without keeping the examples; count the ids in `counts`."""
    ids: list[str] = []

    def noted() -> Iterator:
        for example in examples:
            ids.append(example.id)
            counts[example.id] += 1
            yield example

    for prediction in task.predict(model, noted()):
        yield ids.pop(0), prediction
