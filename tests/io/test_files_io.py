"""All or nothing, whatever goes wrong while writing."""

import errno
import os
import subprocess
import sys

import pytest

from bertlab import InputError
from bertlab.io.atomic import atomic_folder, atomic_write


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


def test_a_kill_while_writing_keeps_the_old_content(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("old")
    code = (
        "import os, sys; from bertlab.io.atomic import atomic_folder\n"
        "with atomic_folder(sys.argv[1]) as work:\n"
        "    (work / 'a').write_text('half'); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "model"])
    assert done.returncode == 9
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
