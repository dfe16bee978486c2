"""A model to the hub, here an API that only notes what it is asked for."""

import httpx
import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from bertlab.cli.main import main

NAME, MODEL = "someone/bert", "storyworld-tiny-sentiment"


class Api:
    """Stands in for huggingface_hub.HfApi."""

    def __init__(self):
        self.made, self.uploaded, self.error, self.public = {}, {}, None, False

    def create_repo(self, name, **options):
        if self.error:
            raise self.error
        self.made = {"name": name, **options}

    def model_info(self, name):
        return type("Info", (), {"private": not self.public})

    def upload_folder(self, **options):
        self.uploaded = options


@pytest.fixture
def api(monkeypatch):
    api = Api()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: api)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "hf_mine")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return api


def test_the_model_and_its_card_alone_go_up(api, capsys):
    from huggingface_hub.utils import filter_repo_objects

    main(["push", MODEL, NAME])
    assert api.made == {"name": NAME, "private": None, "exist_ok": True}
    assert capsys.readouterr().out.strip() == f"{constants.ENDPOINT}/{NAME}"
    folder = api.uploaded["folder_path"]
    names = [str(path.relative_to(folder)) for path in folder.rglob("*")] + ["resume/state.pt", "step-100/config.json"]
    sent = set(filter_repo_objects(names, allow_patterns=api.uploaded["allow_patterns"]))
    assert {"config.json", "model.safetensors", "vocab.txt", "tokenizer.json", "README.md", "report.md"} < sent
    assert not sent & {"recipe.json", "metrics.csv", "resume/state.pt", "step-100/config.json"}


def test_private(api, capsys):
    main(["push", MODEL, NAME, "--private"])
    assert api.made["private"] is True and api.uploaded
    api.public, api.uploaded = True, {}
    assert "is public already: nothing was pushed" in refused(capsys, MODEL, NAME, "--private")
    assert not api.uploaded


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["push", *arguments])
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert stopped.value.code == 2
    return line


def http_error(status: int) -> errors.HfHubHTTPError:
    response = httpx.Response(status, request=httpx.Request("POST", "http://hub"))
    return errors.HfHubHTTPError("no", response=response)


REFUSALS = {
    "may not write to someone": http_error(403),
    "hf auth login": http_error(401),
    "there is no someone": http_error(404),
    "answers 500": http_error(500),
    "cannot be reached; check the network": httpx.ConnectError("Name or service not known"),
    "the upload broke off (disk)": RuntimeError("disk\nmore"),
}


@pytest.mark.parametrize("part", REFUSALS)
def test_what_the_hub_refuses_is_one_line(part, api, capsys):
    api.error = REFUSALS[part]
    line = refused(capsys, MODEL, NAME)
    assert f"'{NAME}' cannot be pushed to the hub" in line and part in line


def test_what_is_not_even_tried(api, capsys, monkeypatch, tmp_path):
    assert "no such folder" in refused(capsys, "runs/none", NAME)
    assert "config.json is missing" in refused(capsys, str(tmp_path), NAME)
    assert "write org/name" in refused(capsys, MODEL, "bert")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    assert "hf auth login" in refused(capsys, MODEL, NAME)
    assert not api.made


def test_offline(api, capsys, monkeypatch):
    api.error = errors.OfflineModeIsEnabled("offline")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in refused(capsys, MODEL, NAME)
