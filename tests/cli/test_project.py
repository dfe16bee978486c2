"""`bertlab new` and what its folder uses: template, corpus card, labels from a text, sections of a model card."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bertlab.cli.main import read_command
from bertlab.cli.new import TEMPLATE
from bertlab.corpora.documents import read_documents
from bertlab.corpora.examples import Document
from bertlab.corpora.sources import source_examples
from bertlab.errors import InputError
from bertlab.evaluation.card_sections import SECTIONS, add_sections, unanswered
from bertlab.evaluation.corpus_card import corpus_card, cuts, duplicates, licences
from bertlab.evaluation.held_out import held_out
from tests.cli.making import make, make_within
from tests.cli.test_cli import bertlab, ok

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


@pytest.fixture
def project(tmp_path) -> Path:
    ok("new", "mine", cwd=tmp_path)
    return tmp_path / "mine"


def two_sources(folder: Path, documents: int = 40) -> list[Document]:
    """Two files of documents with words of their own, and a licence for each."""
    for name, words in {"sea": "wave salt boat tide", "hill": "rock goat path snow"}.items():
        first, second, third, fourth = words.split()
        texts = (
            f"== Number {n} ==\n\nA {first} met the {second} on day {n}. Then came {third} {n} with a {fourth}. "
            f"Nobody had seen {n + 7} of them at once. The {third} was old and the {first} was not."
            for n in range(documents)
        )
        (folder / f"{name}.txt").write_text("\n\n".join(texts))
    (folder / "LICENCES").write_text("sea.txt: own\nhill.txt: own\n")
    return list(read_documents(folder))


# The template


def test_new_makes_the_template_with_folders_for_texts_and_labels(project):
    made = {str(path.relative_to(project)) for path in project.rglob("*")}
    assert made == {*(path.name for path in TEMPLATE.iterdir()), "texts", "labels"}
    assert (project / "Makefile").read_text() == (TEMPLATE / "Makefile").read_text()


@pytest.mark.parametrize("name", ["a b", "-x", ".hidden", "..", "ä", "x/"[:1] + "$"])
def test_a_name_that_make_cannot_use_is_refused(name, tmp_path):
    done = bertlab("new", "--", name, cwd=tmp_path) if name.startswith("-") else bertlab("new", name, cwd=tmp_path)
    assert done.returncode == 2 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_is_there_is_left_as_it_is(kind, tmp_path):
    there = tmp_path / "mine"
    if kind == "folder":
        there.mkdir()
    elif kind == "file":
        there.write_text("kept")
    else:
        there.symlink_to(tmp_path / "nowhere")
    done = bertlab("new", "mine", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == "bertlab: mine: is there already; choose another name\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"] and not (there.is_dir() and list(there.iterdir()))


@needs_make
def test_every_command_of_the_makefile_parses(project):
    lines = [line for line in make(project, "-n", "all", "card", "explore").splitlines() if " -m bertlab " in line]
    commands = [shlex.split(line.partition(" -m bertlab ")[2]) for line in lines]
    assert [words[0] for words in commands] == (
        "data data pretrain data finetune evaluate evaluate export evaluate explore".split()
    )
    for words in commands:
        read_command(words)  # InputError where it cannot


@needs_make
def test_make_says_what_to_do_where_there_is_no_bertlab(project):
    missing = ["make", "-n", "BERTLAB=no-such-bertlab", "corpus.md"]
    told = subprocess.run(missing, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr
    assert "no command no-such-bertlab" in told and "activate" in told
    there = ["make", "-n", f"BERTLAB={sys.executable} -m bertlab", "corpus.md"]
    told = subprocess.run(there, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr
    assert "no command" not in told


@needs_make
def test_an_unfinished_pretraining_is_resumed(project):
    assert "--resume" not in make(project, "-n", "pretrained")
    (project / "runs" / "pretrained" / "resume").mkdir(parents=True)
    assert "--resume" in make(project, "-n", "pretrained")


@needs_make
def test_labels_and_texts_of_the_reader_are_kept_however_old(project):
    two_sources(project / "texts")
    (project / "corpus.md").touch()
    for name in ("train", "dev", "test"):
        (project / "labels" / f"{name}.csv").write_text("text,label\na b,x\n")
        os.utime(project / "labels" / f"{name}.csv", (0, 0))
    assert " data " not in make(project, "-n", "finetuned") and "finetune sentence" in make(project, "-n", "finetuned")


def test_readme_and_makefile_name_the_same_targets_and_settings():
    readme, makefile, settings = ((TEMPLATE / name).read_text() for name in ("README.md", "Makefile", "settings.mk"))
    targets = set(re.findall(r"^([\w./]+):", makefile, re.M))
    assert set(re.findall(r"`make ([\w./]+)`", readme)) - {"NAME"} <= targets
    decided = set(re.findall(r"^(\w+) =", settings, re.M))
    assert set(re.findall(r"\$\((\w+)\)", makefile)) - {"BERTLAB"} == decided
    assert {name for name in re.findall(r"`([A-Z]+)`", readme) if name in decided} == {
        "VOCABULARY", "PRETRAIN", "TASK", "FINETUNE"
    }  # fmt: skip


@pytest.mark.slow
@needs_make
def test_the_whole_way_with_tiny_settings(project):
    two_sources(project / "texts")
    tiny = "num_hidden_layers=1 hidden_size=16 num_attention_heads=2 max_tokens=32"
    settings = {
        "SIZES": "100 200",
        "VOCABULARY": "200",
        "PRETRAIN": f"--steps 3 --batch-size 4 --device cpu --set {tiny}",
        "COUNT": "40",
        "FINETUNE": "--steps 3 --batch-size 4 --max-length 32 --device cpu",
    }
    printed = make_within(project, "all", *(f"{name}={value}" for name, value in settings.items()))
    assert "masked word, first guess right" in printed and "accuracy" in printed
    assert re.search(r"first guess right +(0\.000|\d\.\d{3} \(\d\.\d{3} to \d\.\d{3}\))\n", printed)
    assert (project / "exported" / "model.onnx").is_file()
    report = (project / "runs" / "finetuned" / "report.md").read_text()
    assert "from random weights" in report and "95% interval" in report
    assert bertlab("evaluate", "card", "runs/finetuned", cwd=project).returncode == 2
    (project / "card.md").write_text("".join(f"## {name}\n\nOne two three four five.\n\n" for name in SECTIONS))
    make_within(project, "card")
    assert "## Intended use\n\nOne two" in (project / "runs" / "finetuned" / "README.md").read_text()
    assert not make(project, "-n", "pretrained", "finetuned", "exported", "corpus.md").count("-m bertlab")


# The corpus card


def test_corpus_card_counts_what_is_there(tmp_path):
    documents = two_sources(tmp_path, 8)
    card = corpus_card(documents, "own", sizes=(100, 200))
    words = sum(len(document.text.split()) for document in documents)
    assert f"| all | 16 | 16 | {words:,} | {sum(len(document.text) for document in documents):,} |" in card
    assert "| hill | 8 | 8 |" in card and "| sea | 8 | 8 |" in card and "\nown\n" in card
    cut = [Document((f"One {n}.", "Two."), "sea: Calm") for n in range(21)]
    assert "| sea | 1 | 21 |" in corpus_card(cut, "", sizes=(60,))


def test_the_card_names_what_is_held_out_and_known(tmp_path):
    copied = "It was, as all agreed, a long story of 13 words or a few more."
    documents = [Document((f"On day {n}. {copied}", "No more."), f"tales: {n}") for n in range(500)]
    card = corpus_card(documents, "", sizes=(60,))
    assert "25 documents are held out; 25 of these share" in card and "\n| … and 5 more |  |" in card
    assert "| tales: 0 | it was, as all agreed, a long story of 13 words or a |" in card
    assert "tales: 380 |" in card and "tales: 400 |" not in card  # the first twenty


def test_duplicates_are_counted_once_and_only_across_the_split():
    long = "one two three four five six seven eight nine ten eleven twelve thirteen."
    plain = [Document((f"Nothing {n} here.", f"And nothing {n} there.")) for n in range(40)]
    assert duplicates(plain).sentences == 0 and not duplicates(plain).shared
    inside = [*plain[:2], Document((long,)), Document((long.upper(),)), *plain[4:]]
    assert not duplicates(inside).shared and duplicates(inside).sentences == pytest.approx(1 / 78)
    across = [Document((long,), "copied"), *plain[1:30], Document((long,)), *plain[31:]]  # 0 and 20 are held out
    assert duplicates(across).shared == [("copied", long.removesuffix("."))] and duplicates(across).held_out == 2


def test_vocabularies_are_measured_on_held_out_words():
    documents = [Document(("zzz zhz.", "ggg.") if n % 2 == 0 else ("a cat, a bat.",) * 3) for n in range(4)]
    (cut,) = cuts(documents, (60,))
    assert held_out(documents)[1] == documents[::2]
    assert cut[2:] == ["0%", "100.00%"]  # words whose letters the training part lacks
    with pytest.raises(InputError, match="makes 3 documents; at least 4 .*, with a blank line between paragraphs"):
        held_out(documents[1:])


def test_a_text_without_licences_is_called_so(tmp_path):
    two_sources(tmp_path)
    (tmp_path / "LICENCES").unlink()
    assert "Not stated. Write a file LICENCES" in ok("data", "corpus", tmp_path, "--sizes", 100, cwd=tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sea.txt").rename(tmp_path / "sub" / "sea.txt")
    (tmp_path / "sub" / "LICENCES").write_text("sea.txt: own\n")
    assert licences([tmp_path]) == "sea.txt: own"  # they lie beside the texts


# Labels from a text


def test_labels_share_no_document_and_are_balanced(tmp_path):
    two_sources(tmp_path)
    ok("data", "sources", "--text", tmp_path, "--count", 50, "--out", "labels", cwd=tmp_path)
    rows = {}
    for part in ("train", "dev", "test"):
        with open(tmp_path / "labels" / f"{part}.csv", newline="") as file:
            rows[part] = list(csv.DictReader(file))
        labels = [row["label"] for row in rows[part]]
        assert 0 < labels.count("sea") == labels.count("hill") <= 25
    day = re.compile(r"day (\d+)\.")
    days = {
        part: {(m[1], row["label"]) for row in found if (m := day.search(row["text"]))} for part, found in rows.items()
    }
    assert not days["train"] & days["test"] and not days["train"] & days["dev"] and not days["dev"] & days["test"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("docstrings", "--packages", "filelock"), "own: holds files already"),
        (("sources", "--text", "own"), "--out own: would replace own"),
    ],
)
def test_files_of_the_user_are_left_alone(arguments, reason, tmp_path):
    (tmp_path / "own").mkdir()
    two_sources(tmp_path / "own")
    before = {path.name: path.read_bytes() for path in (tmp_path / "own").iterdir()}
    done = bertlab("data", *arguments, "--out", "own", cwd=tmp_path)
    assert done.returncode == 2 and reason in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "own").iterdir()} == before


def test_docstrings_come_with_headings_and_licences(tmp_path):
    ok("data", "docstrings", "--packages", "filelock", "tqdm", cwd=tmp_path)
    assert (tmp_path / "texts" / "LICENCES").read_text().startswith("filelock.txt: filelock ")
    titles = {document.title for document in read_documents(tmp_path / "texts")}
    assert "tqdm: tqdm.std" in titles and any("filelock: " in title for title in titles)


def test_passages_that_name_a_source_are_left_out():
    documents = [
        Document(("The Sea is here.", "It is wet."), "sea: 1"),
        Document(("Salt and boats.", "Both."), "sea: 2"),
    ]
    documents.append(Document(("A goat.", "A path."), "hill"))
    assert {example.text for example in source_examples(documents, 10)} == {"Salt and boats. Both.", "A goat. A path."}


# The model card


def test_the_template_asks_all_sections_and_answers_none():
    assert unanswered((TEMPLATE / "card.md").read_text()) == list(SECTIONS)


def test_sections_replace_earlier_ones_and_nothing_else(tmp_path):
    (tmp_path / "README.md").write_text("---\nx: y\n---\n# Run\n\n| a |\n")
    for answer in ("The first answer is this one.", "The second answer is this one."):
        card = "<!-- a note -->\n" + "".join(f"## {name}\n<!-- why? -->\n{answer}\n" for name in SECTIONS)
        (tmp_path / "card.md").write_text(card)
        add_sections(tmp_path, tmp_path / "card.md")
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("---\nx: y\n---\n# Run\n\n| a |\n\n## Model details\n\nThe second answer")
    assert text.count("second") == len(SECTIONS) and "first" not in text and "why?" not in text
    (tmp_path / "card.md").write_text("## Thanks\nTo all of them.\n" + (tmp_path / "card.md").read_text())
    for _ in range(2):
        add_sections(tmp_path, tmp_path / "card.md")
    assert [(tmp_path / "README.md").read_text().count(f"## {name}\n") for name in ("Thanks", *SECTIONS)] == [1] * 10
