"""The texts that models of real English are measured on: of none of them may they learn anything."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bertlab.corpora.english.archives import read_members
from bertlab.corpora.english.large import REVIEWS, read_large
from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.labelled.tabular import read_table
from bertlab.corpora.reading import read_text

POLARITY = tuple(f"sentence_polarity/rt-polarity.{label}" for label in ("neg", "pos"))
LABELLED = {  # below the data folder; those that are not there are left out
    "MR": POLARITY,
    "SNLI dev": ("nli_dev/snli_dev.csv",),
    "MNLI dev": ("nli_dev/mnli_dev.csv",),
    "WNUT-17": ("wnut17/emerging.dev.conll", "wnut17/emerging.test.annotated"),
    "SQuAD 2.0 dev": ("squad/dev-v2.0.half.json",),
    "XQuAD-en": ("squad/xquad.en.json",),
}


QUESTIONS = ("SQuAD 2.0 dev", "XQuAD-en")
HELD_OUT = "held out: "  # before a genre: a name of texts that training leaves out


def measured_texts(folder: Path) -> dict[str, list[str]]:
    """Read all held-out documents by genre, IMDB's test reviews, and the labelled sets that are below `folder`."""
    texts: dict[str, list[str]] = {}
    for document in read_large(folder, "test"):
        texts.setdefault(HELD_OUT + document.genre, []).append(document.text)
    reviews = (member for member in read_members(folder, REVIEWS) if member.path == "test.csv")
    texts["IMDB test"] = [text for member in reviews for text in member.texts()]
    return texts | _labelled(folder, LABELLED)


def measured_passages(folder: Path) -> dict[str, list[str]]:
    """Read the passages of the question sets that are below `folder`."""
    return _labelled(folder, QUESTIONS)


def _labelled(folder: Path, names: Iterable[str]) -> dict[str, list[str]]:
    there = {name: [folder / path for path in LABELLED[name] if (folder / path).is_file()] for name in names}
    return {name: [text for path in paths for text in _texts(path)] for name, paths in there.items() if paths}


def held_out_words(texts: Mapping[str, Sequence[str]]) -> Counter[str]:
    """Count the held-out words of each genre in what `measured_texts` returned."""
    held_out = {name: found for name, found in texts.items() if name.startswith(HELD_OUT)}
    return Counter(
        {name.removeprefix(HELD_OUT): sum(len(t.split()) for t in found) for name, found in held_out.items()}
    )


def _texts(path: Path) -> Iterable[str]:
    if path.suffix == ".json":
        return dict.fromkeys(example.context for example in read_squad(path, labelled=False))
    if path.suffix == ".csv":
        return dict.fromkeys(text for example in read_table(path) for text in (example.text, example.pair) if text)
    if path.parent.name == "wnut17":
        return (" ".join(example.words) for example in read_conll(path))
    return read_text(path, option=False).splitlines()
