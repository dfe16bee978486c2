"""`bertlab predict`: what a model predicts for one input, or for each of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from shlex import quote
from typing import Any

from bertlab.cli.shared.messages import print_json, say
from bertlab.cli.shared.settings import Flat, Positional
from bertlab.errors import InputError
from bertlab.io.locate import bundled_models
from bertlab.tasks.files import FileOptions
from bertlab.training.run_settings import PredictSettings

INPUTS = ("text", "pair", "choices", "question", "passage")


@dataclass(frozen=True)
class Predict:
    """Fill in each [MASK] of a text; or let a fine-tuned model predict what it was taught: the class of a text or pair,
    the names in it, the answer to a question, the best of several continuations. Of one input, or of each of a file.
    """

    text: Positional[str | None] = None
    """A text; for a model without a fine-tuned head, with [MASK] in it."""
    pair: str | None = None
    """The second text of a pair."""
    choices: tuple[str, ...] = ()
    """Continuations of the text to choose from."""
    question: str | None = None
    """A question; needs --passage."""
    passage: str | None = None
    """The text that holds the answer."""
    file: Path | None = None
    """A file of examples as finetune takes them, labels not needed; to label words also one of texts. Needs --out."""
    out: Path | None = None
    """Where the predictions go: a line of JSON for each example of --file; .conll: words and their labels."""
    files: Flat[FileOptions] = FileOptions()
    model: str | None = None
    """A bundled name, a folder or a hub id. If not given: english for a text with [MASK], english-sentiment for another
    one, english-pairs for a pair, english-questions for a question."""
    top: int = 5
    """How many guesses to show."""
    json: bool = False
    """Print JSON."""
    settings: Flat[PredictSettings] = PredictSettings()

    def run(self) -> None:
        if self.top < 1:
            raise InputError(f"--top {self.top}: show at least one guess")
        if self.file is not None:
            return self._run_file(self.file)
        if self.out is not None:
            raise InputError("--out takes the predictions for a --file; those for one input are printed: leave it out")
        rows = self._rows()
        if self.json:
            print_json(rows)
        else:
            print("\n".join(map(_line, rows)) or "(no name in this text)")

    def _given(self) -> dict[str, Any]:
        return {name: value for name in INPUTS if (value := getattr(self, name)) not in (None, ())}

    def _rows(self) -> list[dict[str, Any]]:
        """The predictions for one input, by which of its parts were given."""
        from bertlab.predict import fill_in, is_readable, predict_one
        from bertlab.tasks.registry import family_of

        given = self._given()
        if not is_readable(given):
            raise InputError("give a text, a text and --pair or --choices, both --question and --passage, or --file")
        model = self.model or default_model(given)
        if self.text is not None and len(given) == 1 and not family_of(model):
            rows = fill_in(self.text, model, self.top, self.settings, say)
        else:
            rows = predict_one(model, given, self.top, self.settings, say)
        if model != self.model:
            say(f"model: {model}")
        return rows

    def _run_file(self, file: Path) -> None:
        from bertlab.predict import predict_file

        if self.out is None or self.model is None:
            raise InputError("--file needs --model, a fine-tuned one, and --out, where the predictions go")
        if given := self._given():
            raise InputError(f"--file holds the inputs: leave out {' and '.join(given)}")
        count, left_out = predict_file(self.model, file, self.out, self.files, self.settings)
        if left_out:
            say(left_out)
        say(f"wrote {count:,} predictions to {self.out}")


def misplaced(given: Sequence[str]) -> str:
    """Return what to type instead of these arguments, of which more than one before the options is no option: a model
    before its text, or a text without quotes. "" if there is nothing to say."""
    words = list(takewhile(lambda word: not word.startswith("-"), given))
    if len(words) < 2:
        return ""
    model, *rest = words
    if model not in bundled_models() and not Path(model).is_dir():
        return f"predict takes one text, in quotes: bertlab predict {quote(' '.join(words))}"
    from bertlab.tasks.registry import family_of

    text = " ".join(rest)
    hint = "" if family_of(model) or "[MASK]" in text.upper() else ", with [MASK] for the word that it is to guess"
    return f"predict takes the model behind --model: bertlab predict {quote(text)} --model {model}{hint}"


def default_model(given: dict[str, Any]) -> str:
    """Return the name of the bundled model of real English for this input. InputError: there is none."""
    if "choices" in given:
        raise InputError("no bundled model reads choices: name one with --model (bertlab finetune makes one)")
    if "pair" in given:
        return "english-pairs"
    if "question" in given:
        return "english-questions"
    return "english" if "[MASK]" in given["text"].upper() else "english-sentiment"  # [mask] is one too


def _line(row: dict[str, Any]) -> str:
    if "kind" in row:
        return f"{row['kind']:<12}  {row['text']}"
    if "value" in row:
        return f"{row['value']:.4f}"
    mask = f"[MASK] {row['mask']}  " if "mask" in row else ""
    return f"{mask}{row['probability']:6.1%}  {' '.join(row['text'].split()) or '(no answer in this passage)'}"
