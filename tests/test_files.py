"""files_io.py (all or nothing) and locate.py (names to folders)."""

import errno
import os
import subprocess
import sys

import pytest

from bertlab import InputError
from bertlab.files_io import atomic_folder, atomic_write
from bertlab.locate import bundled_models, data_folder
from bertlab.locate import locate as find


def tree(folder):
    """Every file below with its content, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


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
    monkeypatch.setattr("bertlab.files_io.os.fsync", full_disk)
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
        "import os, sys; from bertlab.files_io import atomic_folder\n"
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
    monkeypatch.setattr("bertlab.files_io.os.fsync", full_disk)
    with pytest.raises(InputError, match="file: cannot be written"):
        atomic_write(tmp_path / "file", "new")
    assert tree(tmp_path) == {"file": "old"}


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """A data folder with one bundled model and one snapshot of it."""
    for name in ("town", "town/step-00100"):
        (tmp_path / "data" / "models" / name).mkdir(parents=True)
        (tmp_path / "data" / "models" / name / "config.json").write_text("{}")
    (tmp_path / "data" / "models" / "no-checkpoint").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr("bertlab.locate.data_folder", lambda: tmp_path / "data")
    return tmp_path / "data" / "models"


def test_bundled_names_and_snapshots(bundle):
    assert bundled_models() == ["town"]
    assert find("town") == bundle / "town"
    assert find("town/step-00100") == bundle / "town" / "step-00100"


def test_an_existing_folder_wins(bundle, tmp_path):
    (tmp_path / "elsewhere" / "town").mkdir()
    assert find("town").resolve() == (tmp_path / "elsewhere" / "town").resolve()
    assert find(tmp_path) == tmp_path


NAMES_OF_NOTHING = ["nowhere", "../x", "../../x", "/nowhere/at/all", "a/b/c", "a b/c", "", "  ", "x" * 10_000]
NAMES_OF_NOTHING += ["two\nlines", "nul\0", "~nobody-of-that-name/x", "-rf", "<script>", "犬", "org/../x"]


@pytest.mark.parametrize("name", NAMES_OF_NOTHING, ids=range(len(NAMES_OF_NOTHING)))
def test_a_name_of_nothing_lists_the_bundled_models(bundle, name):
    with pytest.raises(InputError, match="bundled: town") as caught:
        find(name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_a_bundled_name_leads_nowhere_else(bundle):
    with pytest.raises(InputError, match="no such snapshot"):
        find("town/../no-folder/../../x")


def test_a_missing_snapshot_lists_those_there_are(bundle):
    with pytest.raises(InputError, match="it has: step-00100"):
        find("town/step-00999")


def test_a_file_is_no_folder(bundle):
    with pytest.raises(InputError, match="is a file"):
        find(bundle / "town" / "config.json")


def test_a_hub_id_is_downloaded(bundle, tmp_path, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    asked = {}

    def download(name, allow_patterns):
        asked.update(name=name, files=allow_patterns)
        return str(tmp_path / "cache")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert find("someone/bert.v2") == tmp_path / "cache"
    assert asked["name"] == "someone/bert.v2"
    assert {"config.json", "model.safetensors", "vocab.txt"} <= set(asked["files"])


def test_a_hub_id_without_a_network(bundle, tmp_path, monkeypatch):
    constants = pytest.importorskip("huggingface_hub").constants
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="'someone/bert' .*hub.*bundled: town") as caught:
        find("someone/bert")
    assert "\n" not in str(caught.value)


def test_data_lies_beside_the_package_or_in_it(tmp_path, monkeypatch):
    package = tmp_path / "bertlab"
    package.mkdir()
    monkeypatch.setattr(sys.modules["bertlab.locate"], "__file__", str(package / "locate.py"))
    assert data_folder() == tmp_path / "data"
    (package / "data").mkdir()
    assert data_folder() == package / "data"
