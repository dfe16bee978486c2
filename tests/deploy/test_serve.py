"""A model over HTTP: what predict says, whoever asks at the same time, and one line for what is wrong."""

import os
import random
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi.testclient import TestClient

from bertlab import InputError
from bertlab.cli.main import main
from bertlab.corpora import storyworld
from bertlab.deploy import batching
from bertlab.deploy.batching import Batcher
from bertlab.deploy.serve import create_app
from bertlab.predict import fill_in, predict_one
from bertlab.tasks.registry import open_task
from tests.alike import assert_alike

ASKED = {
    "storyworld-tiny": {"text": "Ruth cut the [MASK]."},
    "storyworld-tiny-sentiment": {"text": "The soup was good."},
    "storyworld-tiny-entities": {"text": "Rose Baker met Ruth at the market."},
    "storyworld-tiny-qa": {"question": "Who cut the leeks?", "passage": "Ruth cooked soup. Mark cut the leeks."},
}


def same(rows: list[dict], others: list[dict]) -> bool:
    return len(rows) == len(others) and all(a == pytest.approx(b, abs=1e-5) for a, b in zip(rows, others, strict=True))


def answered(ask, *arguments: str) -> None:
    """Run `bertlab serve` here, `ask(client)` in a thread, then Ctrl-C."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    failed: list[BaseException] = []

    def session():
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300, trust_env=False) as client:
                until = time.monotonic() + 300
                while time.monotonic() < until:
                    try:
                        assert client.get("/health").json()["status"] == "ok"
                        break
                    except httpx.ConnectError:
                        time.sleep(0.05)
                ask(client)
        except BaseException as error:
            failed.append(error)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=session)
    thread.start()
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments, "--port", str(port)])
    thread.join()
    assert not failed, failed
    assert ended.value.code == 130  # as after any Ctrl-C


@pytest.mark.slow
@pytest.mark.parametrize("each", [10, pytest.param(50, marks=pytest.mark.nightly)])
def test_many_requests_of_twenty_clients(each, monkeypatch):
    """None is lost, none gets another's answer, and several are computed together; Ctrl-C waits for the last ones."""
    together, busy = [], threading.Event()
    monkeypatch.setattr(batching, "predict_together", noted := batching.predict_together)

    def counting(jobs):
        together.append(len(jobs))
        busy.set()
        noted(jobs)

    monkeypatch.setattr(batching, "predict_together", counting)
    model, task = open_task("storyworld-tiny-entities")
    texts = [" ".join(example.words) for example in storyworld.entities(0, 100, "test")]
    expected = {text: task.predict_given(model, {"text": text}, 5) for text in texts}
    assert len({str(rows) for rows in expected.values()}) > 90  # another's answer would show
    orders = [random.Random(client).sample(texts, each) for client in range(20)]

    def client_of(client):
        def asks(order):
            return [(text, client.post("/predict", json={"text": text})) for text in order]

        return asks

    def ask(client):
        with ThreadPoolExecutor(20) as pool:
            answers = [answer for some in pool.map(client_of(client), orders) for answer in some]
            assert len(answers) == 20 * each
            for text, answer in answers:
                assert answer.status_code == 200
                assert_alike(answer.json()["predictions"], expected[text])
            assert sum(together) == len(answers) and max(together) > 1
            busy.clear()
            last = [pool.submit(client.post, "/predict", json={"text": text}) for text in texts[:8]]
            busy.wait(300)
            os.kill(os.getpid(), signal.SIGINT)  # while they are under way
            statuses = [answer.result().status_code for answer in last if answer.exception() is None]
            assert statuses and set(statuses) == {200}

    answered(ask, "storyworld-tiny-entities")


@pytest.mark.parametrize("name", ASKED)
def test_every_head_says_what_predict_says(name):
    with TestClient(create_app(name, 1000, 0)) as client:
        rows = client.post("/predict", json=ASKED[name] | {"top": 3}).json()["predictions"]
        described = client.get("/openapi.json").json()["components"]["schemas"]["Input"]
        assert client.get("/docs").status_code == 200 and "https://" not in client.get("/docs").text
    expected = fill_in(ASKED[name]["text"], name, 3) if name == "storyworld-tiny" else predict_one(name, ASKED[name], 3)
    assert same(rows, expected)
    assert set(described["required"]) == set(ASKED[name])


BAD = {
    "no JSON": (422, dict(content="{text: 1"), "the request is no JSON"),
    "a form": (422, dict(data={"text": "a"}, headers={}), "send a JSON object, with Content-Type: application/json"),
    "another text": (422, dict(json={"text": "a", "pair": "b"}), "pair: Extra inputs are not permitted"),
    "nothing": (422, dict(json={}), "text"),
    "another input": (422, dict(json={"text": "a", "passage": "b"}), "passage"),
    "no text": (422, dict(json={"text": 3}), "text"),
    "top": (422, dict(json={"text": "a", "top": 0}), "top"),
    "empty": (400, dict(json={"text": " \x01"}), "the text is empty"),
    "half a character": (400, dict(content='{"text": "a \\ud800"}'), "surrogate"),
    "long": (413, dict(json={"text": "a" * 101}), "101 characters; this service takes 100"),
    "large": (413, dict(content="a" * 10_000), "10,000 bytes"),
    "no length": (411, dict(content=iter([b"{}"])), "Content-Length"),
    "choices": (422, dict(json={"text": "a", "choices": ["b"]}), "choices"),
}


@pytest.fixture(scope="module")
def sentiment():
    with TestClient(create_app("storyworld-tiny-sentiment", 100, 0), raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name, sentiment):
    status, request, part = BAD[name]
    answer = sentiment.post("/predict", **({"headers": {"Content-Type": "application/json"}} | request))
    assert answer.status_code == status, answer.text
    message = answer.json()["error"]
    assert part in message and "\n" not in message


def test_other_addresses_and_methods_are_one_line_too(sentiment):
    assert (sentiment.get("/predict").status_code, sentiment.get("/no").status_code) == (405, 404)
    assert sentiment.get("/predict").json() == {"error": "Method Not Allowed"}


def test_the_rate_is_limited_for_each_address():
    with TestClient(create_app("storyworld-tiny-sentiment", 100, 2)) as client:
        codes = [client.post("/predict", json={"text": "good"}).status_code for _ in range(4)]
        assert codes == [200, 200, 429, 429] and client.get("/health").status_code == 200
        assert client.post("/predict", json={"text": "good"}).headers["Retry-After"] == "60"
    with TestClient(create_app("storyworld-tiny-sentiment", 100, 2), client=("10.0.0.9", 1)) as other:
        assert other.post("/predict", json={"text": "good"}).status_code == 200


def test_one_bad_job_leaves_its_neighbours_their_answers():
    batcher, go = Batcher(), threading.Event()

    def work(examples):
        go.wait(60)
        if "bad" in examples:
            raise InputError("bad")
        return [example.upper() for example in examples]

    with ThreadPoolExecutor(4) as pool:
        jobs = {name: pool.submit(batcher.result, 1, work, [name]) for name in ("first", "bad", "good", "fine")}
        go.set()
        assert [jobs[name].result() for name in ("first", "good", "fine")] == [["FIRST"], ["GOOD"], ["FINE"]]
        assert isinstance(jobs["bad"].exception(), InputError)
    batcher.close()
    assert not batcher.thread.is_alive()


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", *arguments])
    assert stopped.value.code == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_what_cannot_be_served(tmp_path, capsys, monkeypatch, config, tok):
    from bertlab import BertModel

    BertModel(config.changed(vocab_size=tok.vocab_size)).save_pretrained(tmp_path / "encoder", tok)
    assert "no head that predicts" in refused(capsys, str(tmp_path / "encoder"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"--port {port}: cannot be had" in refused(capsys, "storyworld-tiny-sentiment", "--port", port)
    assert "--rate -1" in refused(capsys, "storyworld-tiny", "--rate", "-1")
    monkeypatch.setattr("bertlab.errors.find_spec", lambda module: None)
    assert 'pip install "bertlab[serve]"' in refused(capsys, "storyworld-tiny")
