"""`bertlab course grade`: run a class's notebooks again, each in a kernel of its own, and say which exercises pass."""

import asyncio
import os
import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bertlab
from bertlab.course.marks import Chapter, Exercise, chapter_of, read_marks
from bertlab.errors import InputError, printable, require
from bertlab.io.files import read_text

if TYPE_CHECKING:
    from nbformat import NotebookNode

MOST_BYTES = 100 * 2**20  # nobody's notebook is larger
COLUMNS = ("learner", "chapter", "exercise", "level", "passed", "message")
KEPT = ("PATH", "LANG", "SYSTEMROOT")  # of the teacher's environment: what Python needs, and no secret
CONTAINERS = ("/.dockerenv", "/run/.containerenv")  # Docker and Podman write one of them into each


@dataclass(frozen=True)
class Limits:
    """Seconds for each cell that is not the course's own, and for a whole notebook."""

    seconds: int = 60
    notebook_seconds: int = 1800


@dataclass(frozen=True)
class Mark:
    """One line of the table: an exercise of a learner, with what its checker said."""

    learner: str
    chapter: str = ""
    exercise: str = ""
    level: str = ""
    passed: bool = False
    message: str = ""

    def row(self) -> list[str]:
        """Return the fields as text that neither a terminal nor a spreadsheet takes for a command."""
        fields = (self.learner, self.chapter, self.exercise, self.level, "yes" if self.passed else "no", self.message)
        texts = [printable(" ".join(text.split())) for text in fields]
        return ["'" + text if text[:1] in "=+-@" and text else text for text in texts]


def in_container() -> bool:
    """Return whether this process runs in a container of Docker, Podman or Kubernetes."""
    return any(Path(path).exists() for path in CONTAINERS) or "KUBERNETES_SERVICE_HOST" in os.environ


def container_command(folder: Path, out: Path) -> str:
    """Return the command that grades a class in a container without a network, which reads its folder alone and writes
    into a new one: what runs in it could change whatever else lies beside the table."""
    own = out.resolve().with_suffix("")
    mounts = f"-v {shlex.quote(f'{folder.resolve()}:/class:ro')} -v {shlex.quote(f'{own}:/out')}"
    run = f"docker run --rm --network none --memory 8g --pids-limit 512 {mounts} bertlab"
    grade = f"bertlab course grade /class --out /out/{shlex.quote(out.name)}"
    return f"mkdir -p {shlex.quote(str(own))} && {run} {grade}"


def hand_ins(folder: Path, chapters: Path) -> list[tuple[str, Path | None]]:
    """Return each learner's name with a notebook, in order: a folder with notebooks or a notebook for each learner.

    A learner without a notebook comes with None. Raises InputError where there is nobody.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no folder; give the one that holds a folder or a notebook for each learner")
    found: list[tuple[str, Path | None]] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            notebooks = [path for path in sorted(entry.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
            found += [(entry.name, path) for path in notebooks] or [(entry.name, None)]
        elif entry.suffix == ".ipynb":
            found.append((entry.stem, entry))
    if any(path and path.parent == folder and (chapters / path.name).exists() for _, path in found):
        raise InputError(f"{folder}: has chapters in it; give the folder above, with a folder for each learner")
    if not found:
        raise InputError(f"{folder}: holds no folders and no notebooks")
    return found


def grade_class(found: Sequence[tuple[str, Path | None]], chapters: Path, limits: Limits) -> Iterator[list[Mark]]:
    """Grade the notebooks that `hand_ins` found, several at a time, and yield the marks of each in order."""
    require("nbclient", "course")
    known = {chapter: _sources(chapters / f"{chapter.name}.ipynb") for chapter in read_marks(chapters)}
    pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
    try:
        yield from pool.map(lambda one: _grade(one[0], one[1], known, limits), found)
    finally:
        pool.shutdown(cancel_futures=True)


def _sources(notebook: Path) -> frozenset[str]:
    return frozenset(cell["source"] for cell in _read(notebook).cells)


def _read(path: Path) -> "NotebookNode":
    """Return a notebook without its outputs. InputError: it is a link, too large or no notebook."""
    import nbformat

    if path.is_symlink():
        raise InputError("a link, and no notebook")
    try:
        notebook = nbformat.reads(read_text(path, MOST_BYTES), as_version=4)
    except InputError:
        raise
    except Exception as error:  # nbformat has no common class for what it raises of a damaged file
        raise InputError(f"no notebook ({type(error).__name__})") from error
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return notebook


def _grade(learner: str, path: Path | None, known: dict[Chapter, frozenset[str]], limits: Limits) -> list[Mark]:
    if path is None:
        return [Mark(learner, message="no notebook in the folder")]
    try:
        notebook = _read(path)
        own = chapter_of(path.stem, notebook.cells)
        chapter = next((each for each in known if each.name in path.stem or each.title == own.title), None)
        if chapter is None:
            raise InputError("no chapter of the course: neither its name nor its title is that of one")
    except InputError as error:
        return [Mark(learner, path.stem, message=str(error))]
    ended = run_again(notebook, known[chapter], limits)
    found = {each.number: each for each in chapter_of(path.stem, notebook.cells).exercises}
    return [_mark(learner, chapter, each, found.get(each.number), ended, limits) for each in chapter.exercises]


def _mark(learner: str, chapter: Chapter, asked: Exercise, found: Exercise | None, ended: str, limits: Limits) -> Mark:
    """Return the mark of an exercise: `found` is the learner's, `ended` why the notebook was not run to its end."""
    passed = found is not None and found.state == "passed"
    if found is None:
        message = "its heading, or the cell below it, is gone"
    elif found.remark.startswith("KeyboardInterrupt"):
        message = f"stopped after {limits.seconds} seconds"
    elif found.state == "not run":
        message = ended or "its cell printed nothing"
    else:
        message = "Right" if passed else found.remark or found.state
    return Mark(learner, chapter.name, f"{asked.number} {asked.title}", asked.level, passed, message)


def run_again(notebook: "NotebookNode", given: frozenset[str], limits: Limits) -> str:
    """Run all cells of a notebook in a kernel with an empty home folder, and fill in what they print.

    A cell that is not among those `given` by the course is interrupted after `limits.seconds`; an error in one does
    not stop those below it. Returns why not all were run, or nothing.
    """
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory(prefix="bertlab-", ignore_cleanup_errors=True) as scratch:
        client = NotebookClient(
            notebook,
            kernel_name="python3",  # whichever the notebook names
            allow_errors=True,
            timeout_func=lambda cell: None if cell.source in given else limits.seconds,
            interrupt_on_timeout=True,
            extra_arguments=["--log-level=ERROR"],  # no warning that a kernel listens on this machine
            resources={"metadata": {"path": scratch}},
        )
        until = time.monotonic() + limits.notebook_seconds
        try:
            running = client.async_execute(env=environment(scratch))
            asyncio.run(asyncio.wait_for(running, limits.notebook_seconds))
        except (TimeoutError, RuntimeError):  # nbclient may report a kernel that was ended for its time as dead
            if time.monotonic() >= until:
                return f"not run: the {limits.notebook_seconds} seconds for the notebook were over"
            return "not run: its process ended"
    return ""


def environment(scratch: str) -> dict[str, Any]:
    """Return the environment of a kernel: nothing of the teacher's but KEPT, `scratch` as its home, and one thread."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    homes = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "BERTLAB_MY_BERT"), scratch)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    package = str(Path(bertlab.__file__).parent.parent)
    return kept | homes | threads | {"PYTHONPATH": package, "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}


def show_class(marks: Sequence[Mark]) -> None:
    """Print how many exercises of each chapter each learner has right."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    chapters = sorted({mark.chapter for mark in marks if mark.exercise})
    table = Table("learner", *(chapter[:2] for chapter in chapters), "passed", title="Marks", title_justify="left")
    for learner in dict.fromkeys(mark.learner for mark in marks):
        own = [mark for mark in marks if mark.learner == learner]
        cells = [_share([mark for mark in own if mark.chapter == chapter]) for chapter in chapters]
        failed = [mark.message for mark in own if not mark.exercise]
        total = _share([mark for mark in own if mark.exercise]) or "-"
        table.add_row(escape(printable(learner)), *cells, escape("; ".join([total, *map(printable, failed)])))
    Console().print(table)


def _share(marks: Sequence[Mark]) -> str:
    return f"{sum(mark.passed for mark in marks)} of {len(marks)}" if marks else ""
