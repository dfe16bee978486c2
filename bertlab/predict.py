"""Predictions as plain rows, as the command line prints and writes them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.errors import InputError, printable
from bertlab.explain.words.fill import fill_mask
from bertlab.io.atomic import atomic_lines
from bertlab.model import BertForPreTraining
from bertlab.tasks.base import Task
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.files import FileOptions, read_examples
from bertlab.tasks.registry import NAMES, family_of, open_task, taught
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask, words_of
from bertlab.tokenizer import Tokenizer


def fill_in(text: str, model: str, top: int) -> list[dict]:
    """For each [MASK], counted from 1, the `top` likeliest tokens with their probabilities."""
    tokenizer = Tokenizer.from_pretrained(model)
    fills = fill_mask(BertForPreTraining.from_pretrained(model), tokenizer, text, k=top)
    return [
        {"mask": number, "text": printable(token), "probability": probability}
        for number, fill in enumerate(fills, start=1)
        for token, probability in zip(fill.tokens, fill.probabilities, strict=True)
    ]


def answer_question(question: str, passage: str, model: str, top: int) -> list[dict]:
    """The `top` likeliest answers with their probabilities, first what is said; "" is "no answer"."""
    opened, task = _open(model, SpanTask)
    check_texts(task.tokenizer, question=question, passage=passage)
    task.n_best = top
    said = next(task.predict(opened, [QAExample(question[:40], question, passage, "", -1)]))
    spans = [(span.text, span.probability) for span in said.candidates] + [("", said.no_answer_probability)]
    spans.sort(key=lambda span: (span != (said.text, said.probability), -span[1]))
    return [{"text": text, "probability": probability} for text, probability in spans[:top]]


def classify(text: str, pair: str | None, model: str, top: int) -> list[dict]:
    """The `top` likeliest classes with their probabilities, the number, or the entities of a text or pair."""
    opened, task = _open(model, SequenceTask, TokenTask)
    if isinstance(task, TokenTask):
        if pair is not None:
            raise InputError(f"{model} labels the words of one text: leave out --pair")
        return _entities(opened, task, text)
    if pair is None and wants_pairs(model):
        raise InputError(f"{model} judges pairs of texts: give the second one with --pair")
    check_texts(task.tokenizer, text=text, **({} if pair is None else {"pair": pair}))
    prediction = next(task.predict(opened, [TextExample("", text, pair)]))
    if not prediction.probabilities:
        return [{"value": prediction.label}]
    ranked = sorted(prediction.probabilities.items(), key=lambda item: -item[1])
    return [{"text": printable(name), "probability": probability} for name, probability in ranked[:top]]


def _entities(model, task: TokenTask, text: str) -> list[dict]:
    """The names in a text: kind, text, and first and last + 1 character."""
    check_texts(task.tokenizer, text=text)
    spans = words_of(text, task.tokenizer)
    example = TokenExample("", tuple(text[start:end] for start, end in spans))
    found = next(task.predict(model, [example])).entities
    places = [(spans[entity.first][0], spans[entity.last][1], entity.kind) for entity in found]
    return [{"kind": printable(kind), "text": text[a:b], "start": a, "end": b} for a, b, kind in places]


def choose(text: str, choices: tuple[str, ...], model: str) -> list[dict]:
    """The choices with their probabilities, likeliest first."""
    opened, task = _open(model, ChoiceTask)
    if len(choices) < 2:
        raise InputError("--choices: give two or more to choose from")
    check_texts(task.tokenizer, text=text, **{f"choice {number}": choice for number, choice in enumerate(choices, 1)})
    shares = next(task.predict(opened, [ChoiceExample("", text, choices)])).probabilities
    ranked = sorted(zip(choices, shares, strict=True), key=lambda item: -item[1])
    return [{"text": choice, "probability": share} for choice, share in ranked]


def check_texts(tokenizer: Tokenizer, **texts: str) -> None:
    """InputError for a text of which nothing is left to read."""
    for name, text in texts.items():
        if not tokenizer.tokenize(text):
            raise InputError(f"the {name} is empty: write at least one word")


def wants_pairs(model: str) -> bool:
    """Whether it is a run folder that learned from pairs."""
    name = taught(model)
    return bool(name) and NAMES[name].pairs


def _open(model: str, *families: type[Task]):
    if (family := family_of(model)) not in families:
        what = f"it has a {family.head.__name__}" if family else "it has no head for a task"
        raise InputError(
            f"{model} cannot answer that: {what}; fine-tune one (bertlab finetune) or name another --model"
        )
    return open_task(model)


def predict_file(model: str, path: Path, out: Path, columns: FileOptions, device: str = "auto") -> tuple[int, str]:
    """Write the prediction of each example of a file as a line of JSON, as the examples are read; the file appears when
    all are there. Returns how many, and what was left out in words.

    Where `out` ends in .conll, words and their labels are written instead, as CoNLL columns.
    """
    opened, task = open_task(model, device)
    skipped = columns.skipped()
    pairs = wants_pairs(model) if taught(model) else None
    examples = read_examples(type(task), path, columns, pairs=pairs, labelled=False, skipped=skipped)
    lines = conll_lines if out.suffix == ".conll" else json_lines
    if lines is conll_lines and not isinstance(task, TokenTask):
        raise InputError(f"{out}: {model} does not label words; write .jsonl")
    count = atomic_lines(out, lines(opened, task, tqdm(examples, unit="example", delay=1)))
    return count, str(skipped) if skipped and skipped.count else ""


def json_lines(model, task: Task, examples: Iterable) -> Iterator[str]:
    for identity, prediction in named_predictions(model, task, examples):
        yield json.dumps({"id": identity, **prediction.as_row()}, ensure_ascii=False) + "\n"


def conll_lines(model, task: TokenTask, examples: Iterable) -> Iterator[str]:
    for _, prediction in named_predictions(model, task, examples):
        words = zip(prediction.words, prediction.labels, strict=True)
        yield "".join(f"{word}\t{label}\n" for word, label in words) + "\n"


def named_predictions(model, task: Task, examples: Iterable) -> Iterator[tuple[str, object]]:
    """(id, prediction) of each example; the examples are not kept."""
    ids: list[str] = []

    def noted() -> Iterator:
        for example in examples:
            ids.append(example.id)
            yield example

    for prediction in task.predict(model, noted()):
        yield ids.pop(0), prediction
