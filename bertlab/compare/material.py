"""The text and the labelled examples of a comparison: the storyworld's, or a user's own text with examples of theirs or
with questions about it."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.corpora import storyworld
from bertlab.corpora.cloze import cloze_questions
from bertlab.corpora.documents import read_sources
from bertlab.corpora.examples import Document
from bertlab.corpora.labelled.parts import keep_apart
from bertlab.corpora.pydoc import read_docstrings
from bertlab.errors import InputError
from bertlab.relatives.sequence_to_sequence import SequenceToSequenceTask
from bertlab.tasks.registry import find_task
from bertlab.tokenizer import Tokenizer
from bertlab.training.pretrain import learn_vocabulary
from bertlab.training.recipes import PretrainRecipe

Texts = Sequence[Sequence[str]]
Parts = Mapping[str, Sequence]  # "train", "dev", "test" -> examples
HELD_OUT = 5  # of a user's text every fifth document is for dev and test questions, of examples a fifth for the test
CHOOSE_BY = 10  # every tenth of the other examples is for dev
HELD_OUT_DOCUMENTS = 200
LEAST_EXAMPLES = 50  # of each part
LEAST_DOCUMENTS = 10  # of a share: fewer make no pairs for next-sentence prediction
CLOZE, (RETELLING,) = "cloze", SequenceToSequenceTask.names


@dataclass
class Material:
    """By default the storyworld. With `files` the text is theirs, and the tasks are those of `labelled`, by the names
    of their families. Without any there is one task: to answer questions on the text, which are made without labels
    (see bertlab.corpora.cloze).
    """

    documents: int
    files: Sequence[Path] = ()
    labelled: Mapping[str, Parts] = field(default_factory=dict)
    _texts: dict[str, Texts] = field(default_factory=dict)
    _tokenizers: dict[tuple[str, int, bool], Tokenizer] = field(default_factory=dict)
    _examples: dict[tuple[str, str, int, int], list] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.files:
            self._read()

    def _read(self) -> None:
        """Read the files; InputError if they are too short to compare anything on."""
        found = list(read_sources(self.files))
        held = found[::HELD_OUT]
        known = [document for number, document in enumerate(found) if number % HELD_OUT]
        self._texts["own"] = [document.sentences for document in known]
        self._texts["held out"] = [document.sentences for document in held]
        if not self.labelled:
            splits: dict[str, list[Document]] = {"train": known, "dev": held[::2], "test": held[1::2]}
            self.labelled = {CLOZE: {name: list(cloze_questions(some)) for name, some in splits.items()}}
            if (fewest := fewest_of(self.labelled[CLOZE])) < LEAST_EXAMPLES:
                need = f"{LEAST_EXAMPLES} are needed of every part"
                raise InputError(f"--text: makes only {fewest} questions to compare by, {need}: give more text")

    def name(self, text: str, share: float) -> str:
        """Return what tells this text from others, for a hash."""
        if text == "own" and self.files:
            parts = [[list(sentences) for sentences in self._texts[part]] for part in ("own", "held out")]
            digest = hashlib.sha256(repr(parts).encode())
            text = digest.hexdigest()[:16]
        return f"{text} {self.documents} {share:g}" if text else ""

    def examples_name(self, task: str) -> str:
        """Return what tells the examples of this task from others, for a hash."""
        if task not in self.labelled or task == CLOZE:
            return self.name("own", 1.0)
        return hashlib.sha256(repr(self.labelled[task]).encode()).hexdigest()[:16]

    def texts(self, text: str, share: float) -> Texts:
        """Return the documents of a text, or the first of them."""
        if text == "held out" and text not in self._texts:
            documents = storyworld.documents(0, HELD_OUT_DOCUMENTS, "test")
            self._texts[text] = [document.sentences for document in documents]
        if text not in self._texts:
            own = [document.sentences for document in storyworld.documents(0, self.documents)]
            self._texts[text] = own if text == "own" else docstrings(words_of(self.texts("own", 1.0)))
        whole = self._texts[text]
        return whole[: max(LEAST_DOCUMENTS, round(share * len(whole)))]

    def tokenizer(self, text: str, recipe: PretrainRecipe) -> Tokenizer:
        """Return the vocabulary of the whole text, the same for all who learn from a part of it."""
        key = (text, recipe.vocab_size, recipe.lowercase)
        if key not in self._tokenizers:
            self._tokenizers[key] = learn_vocabulary(self.texts(text, 1.0), recipe)
        return self._tokenizers[key]

    def tasks(self, wanted: tuple[str, ...], only: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return those of the wanted tasks that there are examples of here, for a system of `only` some tasks."""
        if self.labelled:
            return () if only == (RETELLING,) else tuple(self.labelled)
        return tuple(task for task in wanted if not only or task in only)

    def task(self, name: str) -> str:
        """Return the name by which fine-tuning knows a task."""
        return "qa" if name == CLOZE else name

    def examples(self, task: str, split: str, count: int, seed: int) -> list:
        """Return labelled examples: to learn from, those of the seed; to be measured by, the same for all seeds."""
        if task in self.labelled:
            return list(self.labelled[task][split][:count])
        world = find_task(task).storyworld
        if world is None:
            raise InputError(f"the storyworld has no examples of the task {task}")
        key = (task, split, count, seed if split == "train" else 0)
        if key not in self._examples:  # all systems get the same, and telling them takes seconds
            self._examples[key] = list(world(key[3], count, split))
        return self._examples[key]


def parts_of(examples: Sequence) -> Parts:
    """Divide examples into parts that share no text; each part is shuffled. InputError: there are too few."""
    known, test = keep_apart(examples, HELD_OUT)
    train, dev = keep_apart(known, CHOOSE_BY)
    parts = {"train": train, "dev": dev, "test": test}
    if (fewest := fewest_of(parts)) < LEAST_EXAMPLES:
        shares = "a fifth is the test set and a tenth of the others the dev set"
        need = f"and one of these parts has {fewest}, where {LEAST_EXAMPLES} are needed"
        raise InputError(f"{len(examples)} examples are too few: {shares}, {need}")
    return {name: random.Random(0).sample(part, len(part)) for name, part in parts.items()}


def fewest_of(parts: Parts) -> int:
    return min(map(len, parts.values()))


def words_of(texts: Texts) -> int:
    return sum(len(sentence.split()) for sentences in texts for sentence in sentences)


def docstrings(words: int) -> Texts:
    """Return docstrings of the installed packages, as many as make so many words."""
    found: list[Sequence[str]] = []
    for document in read_docstrings(progress=False):
        if words <= 0:
            break
        found.append(document.sentences)
        words -= words_of([document.sentences])
    return found
