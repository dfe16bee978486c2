"""Models by hub id, from a small server on this machine that speaks as the hub does."""

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import torch
from huggingface_hub import close_session, constants

from bertlab import BertConfig, BertForPreTraining, BertModel, InputError, Tokenizer
from bertlab.io.locate import locate

ID = "someone/bert.v2"
COMMITS = {"main": "a" * 40, "v1.0": "b" * 40, "refs/pr/1": "c" * 40}
WEIGHTS = "model.safetensors"


class Hub(ThreadingHTTPServer):
    """Serves the files of `folders[commit]` as the model ID; notes what was fetched and with which token."""

    daemon_threads = True

    def __init__(self, folders: dict[str, Path]):
        super().__init__(("127.0.0.1", 0), Answer)
        self.folders, self.fetched, self.tokens = folders, Counter(), set()
        self.refusal: tuple[int, str] | None = None  # status and X-Error-Code of every answer
        self.cut: str | None = None  # a file whose transfer breaks off in the middle
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        path = unquote(urlsplit(self.path).path)
        if ID in path:  # the client asks for other things too
            self.server.tokens.add(self.headers.get("Authorization"))
        if self.server.refusal:
            return self.error(*self.server.refusal)
        if listing := re.fullmatch(f"/api/models/{ID}/(revision|tree)/(.+)", path):
            return self.listing(*listing.groups())
        if path == f"/api/models/{ID}":
            return self.listing("revision", "main")
        if file := re.fullmatch(f"/{ID}/resolve/(?P<commit>[0-9a-f]{{40}}|main)/(?P<name>.+)", path):
            return self.file(file["commit"], file["name"], body)
        return self.error(404, "RepoNotFound")

    def listing(self, kind: str, revision: str):
        commit = COMMITS.get(revision, revision)
        if commit not in self.server.folders:
            return self.error(404, "RevisionNotFound")
        root = self.server.folders[commit]
        files = [p for p in sorted(root.rglob("*")) if p.is_file()]
        tree = [{"type": "file", "path": str(p.relative_to(root)), "size": p.stat().st_size, "oid": "1"} for p in files]
        siblings = [{"rfilename": entry["path"]} for entry in tree]
        about = {"id": ID, "modelId": ID, "sha": commit, "siblings": siblings, "tags": [], "downloads": 0}
        return self.answer(200, json.dumps(tree if kind == "tree" else about).encode(), type="application/json")

    def file(self, revision: str, name: str, body: bool):
        commit = COMMITS.get(revision, revision)
        path = self.server.folders[commit] / name
        if not path.is_file():
            return self.error(404, "EntryNotFound")
        content = path.read_bytes()
        if body and self.server.cut == name:
            self.server.cut += " (gone)"
            return self.answer(200, content[: len(content) // 2], length=len(content))
        if body and self.server.cut == f"{name} (gone)":
            return self.connection.close()
        if body:
            self.server.fetched[name] += 1
        return self.answer(200, content if body else b"", length=len(content), commit=commit, etag=content)

    def error(self, status: int, code: str):
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status: int, content: bytes, length=None, commit=COMMITS["main"], etag=b"", type="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.send_header("X-Repo-Commit", commit)
        self.send_header("ETag", f'"{hashlib.sha256(etag).hexdigest()}"')
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def fill(folder: Path, seed: int = 0) -> Path:
    """A checkpoint with all that a repository has besides."""
    torch.manual_seed(seed)
    tokenizer = Tokenizer.train(["my dog is hairy"], 40, min_frequency=1)
    sizes = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    BertForPreTraining(BertConfig(vocab_size=tokenizer.vocab_size, **sizes)).save_pretrained(folder, tokenizer)
    torch.save({}, folder / "pytorch_model.bin")
    for other in ("README.md", "tf_model.h5", "flax_model.msgpack", "onnx/model.onnx", "onnx/config.json"):
        (folder / other).parent.mkdir(exist_ok=True)
        (folder / other).write_text("of no use here")
    return folder


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A running hub with two commits of one model, and an empty cache."""
    folders = {commit: fill(tmp_path / commit[0], seed) for seed, commit in enumerate(COMMITS.values())}
    server = Hub(folders)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    close_session()
    yield server
    server.shutdown()
    server.server_close()


def fails(name: str, *parts: str) -> None:
    with pytest.raises(InputError) as caught:
        BertModel.from_pretrained(name)
    message = str(caught.value)
    assert "\n" not in message
    for part in ("bundled: ", *parts):
        assert part in message, message


def words(model) -> torch.Tensor:
    encoder = model if isinstance(model, BertModel) else model.bert
    return encoder.embeddings.word.weight


def test_a_model_by_its_id(hub):
    model, tokenizer = BertForPreTraining.from_pretrained(ID), Tokenizer.from_pretrained(ID)
    local = BertForPreTraining.from_pretrained(hub.folders[COMMITS["main"]])
    assert torch.equal(words(model), words(local))
    assert tokenizer.vocab_size == model.config.vocab_size


def test_only_what_is_needed_is_fetched_and_only_once(hub):
    for _ in range(2):
        Tokenizer.from_pretrained(ID)
    small = {"config.json": 1, "vocab.txt": 1, "tokenizer.json": 1, "tokenizer_config.json": 1}
    assert hub.fetched == small
    for _ in range(2):
        BertForPreTraining.from_pretrained(ID)
    assert hub.fetched == small | {WEIGHTS: 1}


def test_the_lengths_of_the_training_come_along(hub):
    (hub.folders[COMMITS["main"]] / "recipe.json").write_text('{"max_length": 64}')
    Tokenizer.from_pretrained(ID)
    assert hub.fetched["recipe.json"] == 1


def test_the_pickle_is_fetched_where_there_is_nothing_better(hub):
    folder = hub.folders[COMMITS["main"]]
    local = BertForPreTraining.from_pretrained(folder)
    torch.save(local.state_dict(), folder / "unused.bin")
    from bertlab.model.weights import published_tensors

    torch.save(published_tensors(local), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    assert torch.equal(words(BertForPreTraining.from_pretrained(ID)), words(local))
    assert hub.fetched["pytorch_model.bin"] == 1 and "unused.bin" not in hub.fetched


def test_shards_are_fetched(hub):
    from safetensors.torch import load_file, save_file

    folder = hub.folders[COMMITS["main"]]
    local, tensors = words(BertModel.from_pretrained(folder)).clone(), load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    shards = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(tensors)}
    for shard in set(shards.values()):
        save_file({name: tensors[name] for name in tensors if shards[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert torch.equal(words(BertModel.from_pretrained(ID)), local)


def test_a_sentence_transformers_model_with_an_inner_folder(hub):
    folder = hub.folders[COMMITS["main"]]
    (folder / "0_Transformer").mkdir()
    for file in ("config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", WEIGHTS):
        (folder / file).rename(folder / "0_Transformer" / file)
    (folder / "modules.json").write_text('[{"path": "0_Transformer"}]')
    assert torch.equal(words(BertModel.from_pretrained(ID)), words(BertModel.from_pretrained(folder)))
    assert Tokenizer.from_pretrained(ID).vocab == Tokenizer.from_pretrained(folder).vocab


@pytest.mark.parametrize("revision", ["v1.0", "refs/pr/1", COMMITS["v1.0"]])
def test_a_revision(revision, hub):
    commit = COMMITS.get(revision, revision)
    model = BertModel.from_pretrained(f"{ID}@{revision}")
    assert torch.equal(words(model), words(BertModel.from_pretrained(hub.folders[commit])))
    assert not torch.equal(words(model), words(BertModel.from_pretrained(ID)))


def test_a_bare_first_name_belongs_to_google_bert(hub):
    fails("bert-base-uncased", "'google-bert/bert-base-uncased'", "no such model")


def test_the_cache_serves_without_a_network(hub, monkeypatch):
    before = words(BertModel.from_pretrained(ID))
    hub.shutdown()
    hub.server_close()
    assert torch.equal(words(BertModel.from_pretrained(ID)), before)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert torch.equal(words(BertModel.from_pretrained(ID)), before)


def test_a_token_goes_along(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    locate(ID)
    assert hub.tokens == {"Bearer hf_secret"}


def test_no_such_model(hub):
    fails("someone/else", "'someone/else'", "no such model", hub.url, "HF_TOKEN")


def test_no_such_revision(hub):
    fails(f"{ID}@v9", "no branch, tag or commit 'v9'")


def test_a_gated_model(hub):
    hub.refusal = 403, "GatedRepo"
    fails(ID, f"ask at {hub.url}/{ID}", "HF_TOKEN")


def test_a_token_that_is_not_accepted(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_old")
    hub.refusal = 401, ""
    fails(ID, "HF_TOKEN")


def test_a_hub_in_trouble(hub):
    hub.refusal = 500, ""
    fails(ID, f"{hub.url} answers 500")


def test_a_hub_that_is_not_there(hub):
    hub.shutdown()
    hub.server_close()
    fails(ID, hub.url, "cannot be reached", "HF_ENDPOINT")


def test_offline_and_not_in_the_cache(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    fails(ID, "HF_HUB_OFFLINE")
    assert not hub.tokens  # nothing was asked


def test_offline_with_the_tokenizer_alone(hub, monkeypatch):
    Tokenizer.from_pretrained(ID)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    Tokenizer.from_pretrained(ID)
    fails(ID, "HF_HUB_OFFLINE")


FULL = os.strerror(errno.ENOSPC)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, FULL), RuntimeError(f"Data processing error: {FULL} (28)")])
def test_a_full_disk(error, hub, monkeypatch):
    def full(*_args, **_kwargs):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("huggingface_hub.file_download.http_get", full)
        fails(ID, "no space", constants.HF_HUB_CACHE, "HF_HOME")
    BertModel.from_pretrained(ID)


def test_a_download_that_breaks_off_leaves_nothing_half(hub):
    hub.cut = WEIGHTS
    fails(ID, "broke off", "try again")
    cache = Path(constants.HF_HUB_CACHE)
    assert not [*cache.rglob(WEIGHTS), *cache.rglob("*.incomplete")]
    hub.cut = None
    BertModel.from_pretrained(ID)


def test_a_cache_that_cannot_be_made(hub, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file" / "cache"))
    fails(ID, str(tmp_path / "file" / "cache"), "HF_HOME")


def test_the_command_heeds_the_environment(hub, tmp_path):
    """HF_ENDPOINT, HF_HOME, HF_TOKEN and HF_HUB_OFFLINE, as the client reads them when it starts."""
    settings = dict(HF_ENDPOINT=hub.url, HF_HOME=str(tmp_path / "home"), HF_TOKEN="hf_mine", HF_HUB_OFFLINE="0")

    def predict(**more):
        command = [sys.executable, "-c", "from bertlab.cli.main import main; main()"]
        arguments = ["predict", "my [MASK] is hairy", "--model", ID, "--top", "1"]
        environment = os.environ | settings | more
        return subprocess.run(command + arguments, env=environment, capture_output=True, text=True)

    done = predict()
    assert done.returncode == 0 and "%" in done.stdout, done.stderr
    assert "Fetching" in done.stderr  # the progress bar
    assert hub.tokens == {"Bearer hf_mine"} and (tmp_path / "home" / "hub").is_dir()
    hub.shutdown()
    assert predict(HF_HUB_OFFLINE="1").stdout.split()[-1] == done.stdout.split()[-1]  # the word
