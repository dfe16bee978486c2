"""A folder of texts, one file for each source: written from docstrings, and the labels that it has for free."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import metadata, packages_distributions
from importlib.util import find_spec
from pathlib import Path

from bertlab.corpora.examples import Document, TextExample
from bertlab.corpora.pydoc import docstrings, installed, prose, python_files
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_folder

PACKAGES = tuple(filter(find_spec, ("matplotlib", "numpy", "scipy", "sklearn", "torch")))  # those that are installed
LICENCES = "LICENCES"  # beside the texts; without an ending, so that nothing reads it as a text
LONGEST_LICENCE = 120  # letters: some packages put the whole text there
PASSAGE_SENTENCES = 2


def write_docstrings(folder: Path, packages: Sequence[str] = PACKAGES) -> int:
    """Write the docstrings of installed packages as `folder`/PACKAGE.txt, a heading before each module, and their
    licences as `folder`/LICENCES; return the number of modules. InputError: a package has no docstring, or is missing.
    """
    modules: dict[str, list[tuple[str, Path]]] = defaultdict(list)
    for name, path in python_files(installed()):
        modules[name.split(".")[0]].append((name, path))
    for package in packages:
        if package not in modules:
            raise InputError(f"--packages {package}: no such package is installed; install it, or name others")
    texts = {package: [_module(name, path) for name, path in modules[package]] for package in packages}
    for package, found in texts.items():
        if not any(found):
            raise InputError(f"--packages {package}: it has no docstrings")
    with atomic_folder(folder) as work:
        for package, found in texts.items():
            (work / f"{package}.txt").write_text("\n\n".join(filter(None, found)) + "\n", encoding="utf-8")
        owners = packages_distributions()
        lines = [f"{package}.txt: {licence_of(package, owners)}" for package in packages]
        (work / LICENCES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return sum(map(bool, (text for found in texts.values() for text in found)))


def _module(name: str, path: Path) -> str:
    sentences = dict.fromkeys(sentence for docstring in docstrings(path) for sentence in prose(docstring))
    return f"== {name} ==\n\n{' '.join(sentences)}" if sentences else ""


def licence_of(package: str, owners: Mapping[str, Sequence[str]]) -> str:
    """Return name, version and licence of the distribution that a package belongs to, as its metadata states them.

    `owners` names the distributions of each package, as `packages_distributions` does.
    """
    names = owners.get(package)
    if not names:
        return "part of Python, see its own licence"
    found = metadata(names[0]).json
    classifiers = [c.rpartition(" :: ")[2] for c in found.get("classifier", ()) if c.startswith("License ::")]
    stated = [found.get("license_expression"), *classifiers, str(found.get("license", "")).split("\n")[0]]
    licence = next((text for text in stated if text and len(text) <= LONGEST_LICENCE), "licence not stated")
    return f"{found['name']} {found['version']}, {licence}"


def source_of(document: Document) -> str:
    """Return the name of the file that a document of `read_documents` is from."""
    return document.title.partition(": ")[0]


def source_examples(documents: Iterable[Document], count: int, seed: int = 0) -> list[TextExample]:
    """Return at most `count` passages of two sentences, labelled with their source, as many of each as there are of the
    rarest; passages that name a source are left out, as they give the label away.

    InputError: there are fewer than two sources with such passages.
    """
    documents = list(documents)
    named = re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in {*map(source_of, documents)})})\b", re.IGNORECASE)
    passages: dict[str, list[str]] = defaultdict(list)
    for document in documents:
        passages[source_of(document)] += [text for text in _passages(document) if not named.search(text)]
    passages = {source: texts for source, texts in passages.items() if texts}
    if len(passages) < 2:
        raise InputError(f"passages of {len(passages)} source: labels need two files of some twenty documents each")
    each = min(count // len(passages), *map(len, passages.values()))
    if each < 1:
        raise InputError(f"--count {count}: less than one passage for each of {len(passages)} sources")
    rng = random.Random(seed)
    chosen = [(text, source) for source in sorted(passages) for text in rng.sample(passages[source], each)]
    rng.shuffle(chosen)
    return [TextExample(str(number), text, label=source) for number, (text, source) in enumerate(chosen)]


def _passages(document: Document) -> Iterator[str]:
    for start in range(0, len(document.sentences) - 1, PASSAGE_SENTENCES):
        yield " ".join(document.sentences[start : start + PASSAGE_SENTENCES])
