"""Names to folders."""

import sys

import pytest

from bertlab import InputError
from bertlab.io.locate import bundled_models, data_folder
from bertlab.io.locate import locate as find


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """A data folder with one bundled model and one snapshot of it."""
    for name in ("town", "town/step-00100"):
        (tmp_path / "data" / "models" / name).mkdir(parents=True)
        (tmp_path / "data" / "models" / name / "config.json").write_text("{}")
    (tmp_path / "data" / "models" / "no-checkpoint").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr("bertlab.io.locate.data_folder", lambda: tmp_path / "data")
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


def test_data_lies_beside_the_package_or_in_it(tmp_path, monkeypatch):
    package = tmp_path / "bertlab"
    package.mkdir()
    monkeypatch.setattr(sys.modules["bertlab.io.locate"], "__file__", str(package / "io" / "locate.py"))
    assert data_folder() == tmp_path / "data"
    (package / "data").mkdir()
    assert data_folder() == package / "data"
