"""Uploaded models: read as data alone, bounded, never mixed between sessions, and never a loss of what was there."""

import io
import pickle
import zipfile
from pathlib import Path

import pytest
from pages import TINY, boxes, cells, facts, opened
from streamlit.testing.v1 import AppTest

from app.shared.model import uploads
from bertlab import BertForPreTraining
from bertlab.errors import InputError


def named(name: str, content: bytes) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def files_of(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.mark.parametrize("inside", ["", "model/", "a/b/model/"])
def test_a_zip_of_a_folder_opens(folders, tmp_path, inside):
    files = {inside + name: content for name, content in files_of(folders["pretrained"]).items()}
    snapshot = {f"{inside}step-00100/{name}": b"other" for name in files_of(folders["pretrained"])}
    uploads.unpack([named("mine.zip", zipped(files | snapshot))], tmp_path)
    assert files_of(tmp_path) == files_of(folders["pretrained"])
    BertForPreTraining.from_pretrained(tmp_path)


def test_the_files_themselves_open(folders, tmp_path):
    uploads.unpack([named(name, content) for name, content in files_of(folders["pretrained"]).items()], tmp_path)
    BertForPreTraining.from_pretrained(tmp_path)


def test_no_path_of_a_zip_is_followed(folders, tmp_path):
    home = tmp_path / "session"
    home.mkdir()
    files = files_of(folders["pretrained"])
    evil = {f"../../{name}": content for name, content in files.items()} | {"/etc/vocab.txt": b"x", "..\\run.py": b"x"}
    uploads.unpack([named("evil.zip", zipped(evil))], home)
    assert files_of(home) == files
    assert [path.name for path in tmp_path.iterdir()] == ["session"]


BOMB = b"\0" * (uploads.TEXT_MEGABYTES * 1_000_000 + 1)  # 32 KB when it is packed


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"config.json": BOMB}, "larger than 32 MB"),
        ({"notes.txt": b"x"}, "has no config.json"),
        ({"config.json": b"{}"}, "model.safetensors or pytorch_model.bin is missing"),
        ({"config.json": b"{}", "model.safetensors": b""}, "tokenizer.json or vocab.txt is missing"),
        ([("config.json", b"{}")] * 2, "config.json was given twice"),
    ],
)
def test_what_is_no_model_is_refused_and_leaves_nothing(tmp_path, files, said):
    with pytest.raises(InputError, match=said):
        uploads.unpack([named("some.zip", zipped(files))], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_bomb_is_stopped_while_it_grows(tmp_path, monkeypatch):
    """Whatever sizes the zip claims: what counts is what comes out."""
    monkeypatch.setattr(uploads, "MOST_MEGABYTES", 3)
    written = []
    monkeypatch.setattr(uploads.shutil, "rmtree", lambda folder: written.extend(Path(folder).iterdir()))
    monkeypatch.setattr(Path, "mkdir", lambda self, **options: None)
    packed = zipped({"config.json": b"{}", "model.safetensors": b"\0" * 50_000_000})
    with pytest.raises(InputError, match="larger than 3 MB"):
        uploads.unpack([named("bomb.zip", packed)], tmp_path)
    assert sum(path.stat().st_size for path in written) < 3_000_010


@pytest.mark.parametrize("cut", [10, 200, -40])
def test_a_damaged_zip_is_named(folders, tmp_path, cut):
    packed = zipped(files_of(folders["pretrained"]))
    with pytest.raises(InputError, match="mine.zip"):
        uploads.unpack([named("mine.zip", packed[:cut])], tmp_path)


def test_flipped_bytes_inside_a_zip_are_named(folders, tmp_path):
    packed = bytearray(zipped(files_of(folders["pretrained"])))
    for place in range(200, 2000, 7):
        packed[place] ^= 255
    with pytest.raises(InputError):
        uploads.unpack([named("mine.zip", bytes(packed))], tmp_path)


def test_a_file_that_belongs_to_no_model(tmp_path):
    with pytest.raises(InputError, match="run.py: not a file of a model"):
        uploads.unpack([named("run.py", b"import os")], tmp_path)


# The whole way, through the bar, which is the same on all pages


def send(app: AppTest, files: dict[str, bytes]) -> AppTest:
    app.file_uploader(key="upload").set_value([(name, content, "") for name, content in files.items()])
    return app.run()


def test_an_uploaded_model_is_shown_and_can_be_taken_away(folders):
    app = send(opened("stories"), {"mine.zip": zipped(files_of(folders["pretrained"]))})
    assert not app.exception and not app.error
    assert "mine.zip" in facts(app) and "2 layers of 3 heads" in facts(app)
    assert app.query_params["upload"] in ("mine.zip", ["mine.zip"])
    again = opened("stories", upload="mine.zip")  # as after a reload
    assert not again.exception and "**mine.zip** was uploaded before this page was reloaded" in boxes(again)
    app.file_uploader(key="upload").set_value(None).run()
    assert "**english**" in facts(app) and "6 layers of 12 heads" in facts(app)


def test_a_model_that_is_picked_or_typed_puts_an_upload_aside(folders):
    app = send(opened("stories"), {"mine.zip": zipped(files_of(folders["pretrained"]))})
    app.text_input(key="folder").set_value(folders["reader"]).run()
    assert "reader" in facts(app) and "mine.zip" not in facts(app)
    send(app, {"other.zip": zipped(files_of(folders["bare"]))})
    assert "other.zip" in facts(app)
    app.selectbox(key="model").set_value(TINY).run()
    assert facts(app).startswith(f"**{TINY}**:") and "upload" not in app.query_params


def test_the_model_in_place_stays_when_an_upload_fails():
    app = send(opened("attention", model=TINY), {"mine.zip": b"PK no zip"})
    assert not app.exception
    assert "not a readable zip" in " ".join(error.value for error in app.error)
    assert TINY in facts(app)
    assert cells(app)  # the page is there
    assert app.run().error  # and the box stays as long as the file does


def test_a_bad_upload_leaves_the_one_before(folders):
    good = zipped(files_of(folders["pretrained"]))
    app = send(opened("stories"), {"mine.zip": good})
    send(app, {"bad.zip": b"PK no zip"})
    assert "mine.zip" in facts(app) and Path(app.session_state["upload_home"].name).exists()
    send(app, {"mine.zip": good, "other.zip": good})
    assert "give one zip" in app.error[0].value


def test_code_in_a_pickle_is_not_run(folders, tmp_path):
    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "hit",)

    files = files_of(folders["pretrained"])
    del files["model.safetensors"]
    app = send(
        opened("stories"), files | {"pytorch_model.bin": pickle.dumps({"embeddings.word_embeddings.weight": Evil()})}
    )
    assert not app.exception
    assert app.error and "You still see" in app.error[0].value
    assert not (tmp_path / "hit").exists()


def test_a_damaged_upload_is_named_without_the_servers_folders(folders):
    files = files_of(folders["pretrained"])
    app = send(opened("stories"), {"mine.zip": zipped(files | {"config.json": b"[" * 200_000})})
    assert not app.exception and "JSON nested" in app.error[0].value
    assert "mine.zip" in boxes(app) or "config.json" in boxes(app)
    assert "/tmp" not in boxes(app) and "bertlab-" not in boxes(app)


def test_the_pooling_of_a_sentence_encoder_comes_along(folders, tmp_path):
    files = files_of(folders["pretrained"]) | {"modules.json": b"[]", "1_Pooling/config.json": b"{}", "2_Dense/x": b""}
    files["sentence_bert_config.json"] = b'{"max_seq_length": 9}'
    uploads.unpack([named("mine.zip", zipped({f"m/{name}": content for name, content in files.items()}))], tmp_path)
    assert (tmp_path / "1_Pooling" / "config.json").read_bytes() == b"{}" and not (tmp_path / "2_Dense").exists()
    assert (tmp_path / "sentence_bert_config.json").read_bytes() == b'{"max_seq_length": 9}'


def test_two_sessions_keep_their_uploads_apart(folders):
    one, two = opened("stories"), opened("stories")
    send(one, {"first.zip": zipped(files_of(folders["pretrained"]))})
    send(two, {"second.zip": zipped(files_of(folders["bare"]))})
    assert "first" in facts(one.run()) and "second" not in facts(one)
    assert "second" in facts(two.run()) and "first" not in facts(two)


def test_what_was_uploaded_goes_with_its_successor(folders):
    app = send(opened("stories"), {"mine.zip": zipped(files_of(folders["pretrained"]))})
    home = Path(app.session_state["upload_home"].name)
    assert home.exists()
    send(app, {"other.zip": zipped(files_of(folders["bare"]))})
    assert not home.exists()


def test_a_link_names_the_upload_it_lacks_until_another_model_is_shown(folders):
    app = send(opened("training", run=TINY), {"mine.zip": zipped(files_of(folders["pretrained"]))})
    assert "does not contain your uploaded model" in boxes(app)
    app.select_slider(key="training_step").set_value("300").run()
    assert "storyworld-tiny" in facts(app) and "does not contain" not in boxes(app)
