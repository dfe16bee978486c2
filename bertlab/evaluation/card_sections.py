"""What a model card must say and no program knows: the nine sections of Mitchell et al. 2019, "Model Cards for Model
Reporting", figure 1."""

import re
from pathlib import Path

from bertlab.corpora.reading import read_text
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_write

SECTIONS = (
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LEAST_WORDS = 5


def sections_of(text: str) -> dict[str, str]:
    """Return the text below each heading `## NAME`, without comments."""
    parts = re.split(r"^##[ \t]+(.+?)[ \t]*$", COMMENT.sub("", text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))


def unanswered(text: str) -> list[str]:
    """Return the sections that a card lacks, or that have fewer than five words."""
    found = sections_of(text)
    return [name for name in SECTIONS if len(found.get(name, "").split()) < LEAST_WORDS]


def add_sections(folder: Path, path: Path) -> None:
    """Put the sections of the file `path` behind the card (README.md) of a run folder, in place of earlier ones.

    InputError: a section is missing or empty, or there is no card; then nothing is written.
    """
    text, card = read_text(path, option=False), folder / "README.md"
    if left := unanswered(text):
        raise InputError(f"{path}: fewer than five words under {', '.join(f'## {name}' for name in left)}")
    if not card.is_file():
        raise InputError(f"{folder}: has no README.md; give the folder of a finished run")
    given = sections_of(text)
    own = "\n\n".join(f"## {name}\n\n{words}" for name, words in given.items())
    names = "|".join(map(re.escape, {*SECTIONS, *given}))
    made = re.split(rf"\n## (?:{names})\n", read_text(card, option=False))[0].rstrip()
    atomic_write(card, f"{made}\n\n{own}\n")
