"""All or nothing, whatever goes wrong while writing."""

import errno
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from bertlab import InputError
from bertlab.io.atomic import atomic_file, atomic_folder, atomic_write, check_out, keep_apart
from tests.forked import exit_code, forks


def tree(folder):
    """Every file below with its content, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def full_disk(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_new_folder_appears_only_when_complete(tmp_path):
    target = tmp_path / "deep" / "model"
    with atomic_folder(target) as work:
        (work / "a").write_text("1")
        assert not target.exists()
    assert tree(tmp_path) == {"deep/model/a": "1"}


def test_an_existing_folder_keeps_what_is_not_replaced(tmp_path):
    (tmp_path / "model" / "sub").mkdir(parents=True)
    (tmp_path / "model" / "a").write_text("old")
    (tmp_path / "model" / "note").write_text("mine")
    (tmp_path / "model" / "sub" / "x").write_text("old")
    with atomic_folder(tmp_path / "model") as work:
        (work / "a").write_text("new")
        (work / "sub").mkdir()
        (work / "sub" / "y").write_text("new")
    assert tree(tmp_path) == {"model/a": "new", "model/note": "mine", "model/sub/y": "new"}


def test_the_current_folder_can_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with atomic_folder(".") as work:
        (work / "a").write_text("1")
    assert os.listdir(".") == ["a"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_while_writing_changes_nothing(tmp_path, error):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("old")
    with pytest.raises(error), atomic_folder(tmp_path / "model") as work:
        (work / "a").write_text("half")
        raise error
    assert tree(tmp_path) == {"model/a": "old"}


def test_a_full_disk_is_an_input_error_naming_the_folder(tmp_path):
    with pytest.raises(InputError, match=r"model: cannot be written \(No space left"):
        with atomic_folder(tmp_path / "model") as work:
            (work / "a").write_text("half")
            full_disk()
    assert list(tmp_path.iterdir()) == []


def test_an_inner_full_disk_names_the_real_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("bertlab.io.atomic.os.fsync", full_disk)
    with pytest.raises(InputError, match="model/vocab.txt: cannot be written") as caught:
        with atomic_folder(tmp_path / "model") as work:
            atomic_write(work / "vocab.txt", "x")
    assert ".part" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_swapping_puts_everything_back(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    with atomic_folder(folder) as work:
        for name in "abc":
            (work / name).write_text("old")
    rename = type(folder).rename

    def fail_at_b(self, target):
        if self.name == "b" and self.parent.name == "new":
            full_disk()
        return rename(self, target)

    monkeypatch.setattr(type(folder), "rename", fail_at_b)
    with pytest.raises(InputError, match="model"), atomic_folder(folder) as work:
        for name in "abcd":
            (work / name).write_text("new")
    assert tree(tmp_path) == {"model/a": "old", "model/b": "old", "model/c": "old"}


@forks
def test_a_kill_while_writing_keeps_the_old_content(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("old")

    def dies():
        with atomic_folder(tmp_path / "model") as work:
            (work / "a").write_text("half")
            os._exit(9)

    assert exit_code(dies) == 9
    assert (tmp_path / "model" / "a").read_text() == "old"


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "model").write_text("a file")
    with pytest.raises(InputError, match="model: cannot be written"), atomic_folder(tmp_path / "model"):
        pass
    assert tree(tmp_path) == {"model": "a file"}


@pytest.mark.parametrize(("content", "stored"), [("grüß", "grüß".encode()), (b"\x00\xff", b"\x00\xff")])
def test_atomic_write_replaces_a_file(tmp_path, content, stored):
    path = tmp_path / "new" / "file"
    atomic_write(path, "old")
    atomic_write(path, content)
    assert path.read_bytes() == stored
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_atomic_write_on_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    atomic_write(tmp_path / "file", "old")
    monkeypatch.setattr("bertlab.io.atomic.os.fsync", full_disk)
    with pytest.raises(InputError, match="file: cannot be written"):
        atomic_write(tmp_path / "file", "new")
    assert tree(tmp_path) == {"file": "old"}


def dies_writing(home, what):
    """Write a file, or a folder, until this process dies."""
    if what == "file":
        with atomic_file(home / "vectors") as file:
            file.write(b"half")
            file.flush()
            os._exit(9)
    rename = Path.rename

    def dies(self, target):
        rename(self, target)
        if Path(target) == home / "a":
            os._exit(9)

    if what == "swap":
        Path.rename = dies
    with atomic_folder(home) as work:
        for name in "abc":
            (work / name).write_text("new")
        if what == "folder":
            os._exit(9)


def killed(home, what):
    """A process that dies while it writes; it leaves one hidden folder."""
    assert exit_code(partial(dies_writing, home, what)) == 9
    (left,) = home.glob(".*.part")
    return left


@forks
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_a_kill_left_goes_with_the_next_write_beside_it(tmp_path, what):
    (tmp_path / "a").write_text("old")
    killed(tmp_path, what)
    atomic_write(tmp_path / "other", "x")
    assert tree(tmp_path) == {"a": "old", "other": "x"}
    assert not list(tmp_path.glob(".*"))


@forks
def test_a_swap_that_a_kill_cut_off_is_ended(tmp_path):
    """The new folder was complete: its entries replace the rest of the old ones, and none is lost."""
    for name in "abcd":
        (tmp_path / name).write_text("old")
    killed(tmp_path, "swap")
    assert (tmp_path / "a").read_text() == "new" and (tmp_path / "c").read_text() == "old"
    atomic_write(tmp_path / "other", "x")
    assert tree(tmp_path) == {"a": "new", "b": "new", "c": "new", "d": "old", "other": "x"}


def test_what_a_living_process_writes_stays(tmp_path):
    with atomic_file(tmp_path / "vectors") as file, atomic_folder(tmp_path) as work:
        file.write(b"long work")
        (work / "a").write_text("1")
        atomic_write(tmp_path / "other", "x")
        assert len(list(tmp_path.glob(".*.part"))) == 2
    assert tree(tmp_path) == {"a": "1", "other": "x", "vectors": "long work"}


def test_hidden_folders_of_others_stay(tmp_path):
    for name in (".film.1a2b3c4d.part", ".film.5a6b7c8d.part"):
        (tmp_path / name).mkdir()
    (tmp_path / ".film.1a2b3c4d.part" / "lock").write_text("")
    (tmp_path / ".film.1a2b3c4d.part" / "mine").write_text("a download of another program")
    (tmp_path / ".film.9a9b9c9d.part").write_text("another download")
    before = tree(tmp_path)
    atomic_write(tmp_path / "other", "x")
    assert tree(tmp_path) == before | {"other": "x"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pipes nor devices among its files")
@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), os.mkdir, lambda path: os.symlink("/dev/null", path)])
def test_nothing_but_a_file_is_replaced_by_a_file(tmp_path, make):
    path = tmp_path / "out"
    make(path)
    before = os.stat(path).st_mode
    with pytest.raises(InputError, match="out: not a regular file but"):
        atomic_write(path, "x")
    assert os.stat(path).st_mode == before


def test_text_that_utf_8_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="out: not written, a text in it has half of a surrogate pair"):
        atomic_write(tmp_path / "out", "a\ud800")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A file, other names of it, a folder of texts and a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("text\na\n")
    os.symlink("f.csv", "link.csv")
    os.link("f.csv", "hard.csv")
    texts, model = ("a.txt", "sub/b.md", "card.html"), ("config.json", "predictions.jsonl")
    for name in (*(f"texts/{name}" for name in texts), *(f"model/{name}" for name in model), "labels/dev.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    os.symlink("texts", "elsewhere")
    return tmp_path


REPLACED = {
    "itself": ("f.csv", "f.csv"),
    "another spelling": ("texts/../f.csv", "./f.csv"),
    "a link": ("link.csv", "f.csv"),
    "a linked input": ("f.csv", "link.csv"),
    "a hard link": ("hard.csv", "f.csv"),
    "a folder": ("texts", "texts"),
    "a linked folder": ("elsewhere", "texts"),
    "a text of a folder": ("texts/a.txt", "elsewhere"),
    "a text of a subfolder": ("texts/sub/b.md", "elsewhere"),
    "a file of a model": ("model/config.json", "model"),
    "a folder with the input": ("labels", "labels/dev.csv"),
    "the current folder": (".", "f.csv"),
}
APART = {
    "a new file": ("new.csv", "f.csv"),
    "no such input": ("f.csv", "english"),
    "other files beside texts": ("texts/card.html", "texts"),
    "predictions beside a model": ("model/predictions.jsonl", "model"),
    "a folder inside": ("texts/store", "texts"),
    "a folder around folders": (".", "texts"),
}


@pytest.mark.parametrize("name", REPLACED)
def test_nothing_is_written_over_what_is_read(place, name):
    out, given = REPLACED[name]
    for one in (out, place / out):
        with pytest.raises(InputError, match="--out .*: would replace .*, which is read; choose another name"):
            keep_apart(one, ["english", given])


@pytest.mark.parametrize("name", APART)
def test_what_replaces_nothing_may_be_written(place, name):
    out, given = APART[name]
    keep_apart(out, ["", given])


NO_TARGET = {
    "the output of this process": ("/dev/stdout", "is a stream of this process; name a file"),
    "another stream": ("/dev/fd/63", "is a stream of this process; name a file"),
    "no such home": ("~nobody-of-this-name/a", "there is no home folder of this user"),
    "a NUL": ("a\0b", "no file can have this name"),
}


@pytest.mark.parametrize("name", NO_TARGET)
def test_what_is_no_name_of_a_file_is_not_written(name):
    """A rename onto /dev/stdout would replace the link for all programs."""
    path, said = NO_TARGET[name]
    for write in (
        lambda: atomic_write(path, "x"),
        lambda: check_out(path),
        lambda: keep_apart("a", ["~nobody-else/b"]),
    ):
        with pytest.raises(InputError, match=f"{said}|no home folder"):
            write()
