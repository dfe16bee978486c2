"""The model card of a run: what it is, how it was made, what was measured."""

import json
import os
import platform
from pathlib import Path

import torch

from bertlab.files_io import atomic_write

MEASURES = "measures.json"
GRAMMAR = {  # phenomena of bertlab.corpora.minimal_pairs
    "": "",
    "agreement": ": subject and verb",
    "attractor": ": subject and verb, a noun of the other number between them",
    "reflexive": ": himself, herself, themselves",
    "determiner": ": this book, these books",
    "polarity": ": ever and any after a negation",
    "irregular": ": wrote, has written",
}
MEANING = {
    "masked_top1": "masked word, first guess right",
    "unigram_top1": "… guessing the most frequent word",
    "bigram_top1": "… guessing from both neighbours",
    "masked_loss": "masked word, loss in nats",
    "unigram_loss": "… of word frequency",
    "bigram_loss": "… of both neighbours",
    "nsp_accuracy": "next sentence, right",
    "nsp_accuracy_masked": "… with the masked words hidden, as in training",
    "order_accuracy": "sentence order, right",
    "order_accuracy_masked": "… with the masked words hidden, as in training",
    "next_token_top1": "next word, first guess right",
    "previous_top1": "… guessing from the word before",
    "next_token_loss": "next word, loss in nats",
    "previous_loss": "… of the word before",
    "perplexity": "next word, perplexity",
    **{
        f"{prefix}grammar{'_' * bool(name)}{name}": f"{start}{words}"
        for name, words in GRAMMAR.items()
        for prefix, start in {
            "": "grammar pairs, right",
            "unigram_": "… by word frequency",
            "bigram_": "… by both neighbours",
        }.items()
    },
    "probes": "right-context probes, first guess of all words right",
    "probes_crossing": "… who or what was too tired, too wide",
    "probes_fitting": "… what was too big, too small",
    "probes_pronoun": "… he or she",
    "accuracy": "accuracy",
    "macro_f1": "F1, mean of the classes",
    "micro_f1": "F1 of all labels together",
    "positive_f1": "F1 of the second class",
    "matthews": "Matthews correlation",
    "pearson": "Pearson correlation",
    "spearman": "Spearman rank correlation",
    "rmse": "root of the mean squared error",
    "f1": "F1",
    "exact": "exact match",
    "precision": "precision",
    "recall": "recall",
    "token_accuracy": "words with the right label",
    "no_answer": "questions without an answer, seen as such",
    "has_answer_f1": "questions with an answer, F1",
    "best_f1": "F1 with the best threshold for no answer",
}


def meaning(name: str) -> str | None:
    """What a measure is in words, None for one that is not shown; `masked_top1:novel` is that of one genre."""
    base, _, genre = name.partition(":")
    return base in MEANING and (f"{genre}: {MEANING[base]}" if genre else MEANING[base]) or None


def write_card(
    folder: str | Path,
    title: str,
    text: str,
    recipe: dict,
    measures: dict[str, float],
    seconds: float,
    command: str,
    free: bool = True,
) -> None:
    """Write README.md into the run folder, with the `measures` that have a meaning, and measures.json.

    `free`: the weights may be given away under the Apache 2.0 licence, as far as bertlab knows.
    """
    rows = [f"| {meaning(name)} | {value:.3f} |" for name, value in measures.items() if meaning(name)]
    head = "license: apache-2.0\nlibrary_name: bertlab" if free else "library_name: bertlab"
    content = f"""---
{head}
---
# {title}

{text}

Made by `{command}` in {_time(seconds)} on {_machine()}, seed {recipe["seed"]}.

| measured on held-out text | |
|---|---|
{chr(10).join(rows)}

The recipe in full:

```json
{json.dumps(recipe, indent=2)}
```
"""
    if free:
        content += "\nThe weights are under the Apache 2.0 licence.\n"
    atomic_write(Path(folder) / "README.md", content)
    atomic_write(Path(folder) / MEASURES, json.dumps(measures, indent=2) + "\n")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _machine() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()} CPU cores ({platform.machine()}, torch {torch.__version__.split('+')[0]})"
