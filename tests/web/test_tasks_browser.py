"""Opinion, names and answers on the live page: the same as by bertlab, and as a visitor asks for them."""

import csv
import json
import re
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.web.serving import served
from bertlab.evaluation.calibration import when_as_sure
from bertlab.io.locate import locate
from bertlab.tasks.registry import open_task
from web.build import ADAPTER_FILES, MODELS, SIBLINGS, adapts

ENGLISH = Path(__file__).parents[2] / "data" / "english"
BASE = MODELS[0]
PASSAGE = "The lighthouse was built in 1873 by Thomas Reed, a ship's carpenter. Nobody has lived in it since."
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not all(adapts(name, BASE) for name in SIBLINGS.values()), reason=f"an adapter of {BASE} is not bundled"
    ),
]
MARKS = "Zo\u0308e Mu\u0308ller met  \u00a0Jos\u00e9 in S\u00e3o Paulo. \U0001f600 Then [SEP] on to Mu\u0308nchen!"

# What the page answers with the weights that bertlab bundles, of 16 bits: [texts] -> [results].
SOLVE = """async ([task, base, sibling, runs]) => {
  const { Client } = await import("/live/js/client.js");
  const address = (name) => new URL(`/live/models/${name}/`, location).href;
  const client = await new Client("").open({ address: address(base), version: "1" });
  return client.solve({ task, address: address(sibling), version: "1" }, runs);
}"""


@pytest.fixture
def solve(tab, site):
    """Ask the page's engine."""

    def ask(task, runs):
        tab.goto(f"{site}/live/site.json")
        return tab.evaluate(SOLVE, [task, f"{BASE}-16", SIBLINGS[task], runs])

    return ask


opened = cache(open_task)


def told(task, **given) -> list[dict]:
    """What bertlab says."""
    model, family = opened(SIBLINGS[task])
    return family.predict_given(model, given, 5)


def rows(file: str) -> list[dict[str, str]]:
    with (ENGLISH / file).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_opinions_are_those_of_bertlab(solve):
    texts = [*(row["text"] for row in rows("opinions.csv")[::40]), MARKS]
    for text, answer in zip(texts, solve("opinion", [{"text": text} for text in texts]), strict=True):
        expected = {row["text"]: row["probability"] for row in told("opinion", text=text)}
        assert dict(answer["classes"]) == pytest.approx(expected, abs=1e-3), text


def test_names_are_those_of_bertlab(solve):
    texts = [
        *(row["text_a"] for row in rows("pairs.csv")[::40]),
        MARKS,
        "Anna Schmidt left Berlin to work for Siemens.",
    ]
    names = 0
    for text, answer in zip(texts, solve("names", [{"text": text} for text in texts]), strict=True):
        units = text.encode("utf-16-le")  # in which JavaScript counts
        found = [(one["kind"], units[2 * one["start"] : 2 * one["end"]].decode("utf-16-le")) for one in answer["found"]]
        assert found == [(row["kind"], row["text"]) for row in told("names", text=text)], text
        names += len(found)
    assert names > 5


def test_answers_are_those_of_bertlab(solve):
    articles = json.loads((ENGLISH / "questions-test.json").read_text(encoding="utf-8"))["data"]
    passages = [paragraph for article in articles for paragraph in article["paragraphs"]][:3]
    asked = [(one["question"], passage["context"]) for passage in passages for one in passage["qas"][:2]]
    asked += [("Who met Jos\u00e9?", MARKS), ("What is it made of?", "Glass.")]
    runs = [{"question": question, "text": text} for question, text in asked]
    answered = 0
    for run, answer in zip(runs, solve("answers", runs), strict=True):
        assert not answer["cut"]
        expected = told("answers", question=run["question"], passage=run["text"])
        shares = dict(answer["answers"])
        for row in expected[:2]:  # those below are as likely as each other
            assert shares.get(row["text"], 0) == pytest.approx(row["probability"], abs=1e-3), run
        assert (answer["best"] is None) == (expected[0]["text"] == ""), run
        answered += answer["best"] is not None
    assert 0 < answered < len(runs)


def test_the_control_of_a_task_is_its_head_on_random_weights(solve):
    texts = [{"text": row["text"], "random": True} for row in rows("opinions.csv")[:20]]
    control = [answer["classes"][0] for answer in solve("opinion", texts)]
    assert len({name for name, _ in control}) == 1 or max(p for _, p in control) < 0.9  # it cannot tell them apart


def shown(tab):
    tab.locator("#task-status", has_text=re.compile("^Answered by")).wait_for()
    assert tab.outside == [] and tab.broken == [] and tab.locator("#problem").text_content() == ""


def test_a_visitor_asks_for_all_three(tab, site):
    tab.goto(f"{site}/live/")
    asked = []
    tab.on("request", lambda request: asked.append(request.url) if "adapter" in request.url else None)
    tab.get_by_role("link", name="It also judges opinions").wait_for()
    assert not tab.locator("#task").is_visible() and asked == []  # nothing is fetched before it is asked for
    tab.get_by_role("button", name="Opinion").click()
    shown(tab)
    tab.locator("#status", has_text="Answered by english, here").wait_for()
    assert tab.locator("#progress").is_hidden()  # the adapter has come, and no model is on its way
    tab.fill("#task-text", "The food was cold and the waiter was rude to us. Never again.")
    expect(tab.locator("#task-answer .word").first).to_have_text("negative", timeout=60_000)
    expect(tab.locator("#task-answer .note")).to_have_text(re.compile(r"^Of \d+ test texts"))
    assert "read=The+food" in tab.url and "task=opinion" in tab.url
    tab.get_by_role("button", name="Names").click()
    assert tab.input_value("#task-text").startswith("The food")  # a text of one's own goes along
    tab.fill("#task-text", "Anna Schmidt left Berlin. <img src=x onerror=window.hurt=1>")
    tab.locator("mark", has_text="Anna Schmidt person").wait_for()
    assert tab.evaluate("window.hurt") is None and tab.locator("main img").count() == 0
    tab.get_by_role("button", name="Answers").click()
    shown(tab)
    tab.fill("#task-text", PASSAGE)
    tab.fill("#task-question", "When was it built?")
    best = told("answers", question="When was it built?", passage=PASSAGE)[0]
    answer = tab.locator("#task-answer .word", has_text=best["text"] or "no answer in the text").first
    answer.wait_for()
    measured = when_as_sure(locate(SIBLINGS["answers"]), best["probability"], PASSAGE)
    said = f"Of {measured.count} test texts about which it was as sure, it got {measured.right} right."
    expect(tab.locator("#task-answer .note")).to_have_text(said)
    tab.locator("#task-random").check()
    tab.locator("#task-answer .column").nth(1).wait_for()
    assert tab.locator("#random").is_checked()
    link = tab.url
    tab.goto("about:blank")
    tab.goto(link)
    answer.wait_for()
    tab.locator("#task-answer .column").nth(1).wait_for()
    tab.fill("#task-question", "")
    tab.locator("#task-answer .column").first.wait_for(state="detached")
    assert tab.locator("#task-status").text_content() == ""
    tab.fill("#task-question", "Who?")
    tab.fill("#task-text", "\U0001f600")
    tab.locator("#task-status", has_text="[UNK] stands for what is not in this model's vocabulary").wait_for()
    tab.fill("#task-text", "")
    tab.locator("#task-answer .column").first.wait_for(state="detached")
    assert tab.outside == [] and tab.broken == []


def test_a_task_that_was_asked_for_goes_on_without_the_server(new_tab, live_site):
    tab = new_tab()
    with served(live_site) as site:
        tab.goto(f"{site}/live/?text=Two+plus+two+is+[MASK].&task=opinion")
        shown(tab)
        tab.evaluate("navigator.serviceWorker.ready.then(() => true)")
    tab.goto(f"{site}/live/?text=Two+plus+two+is+[MASK].&task=opinion&read=Too+loud,+too+long,+too+dear.")
    shown(tab)
    assert tab.locator("#task-answer .word").first.text_content() == "negative"
    tab.get_by_role("button", name="Names").click()
    tab.locator("#task-status", has_text="could not be loaded. Is the server running?").wait_for()
    tab.get_by_role("button", name="Opinion").click()
    shown(tab)


def test_what_is_shipped_of_a_sibling(live_site):
    entries = json.loads((live_site / "live" / "site.json").read_text(encoding="utf-8"))["siblings"]
    assert {one["task"]: one["name"] for one in entries} == SIBLINGS
    for one in entries:
        folder = live_site / "live" / "models" / one["name"]
        assert {path.name for path in folder.iterdir()} == set(ADAPTER_FILES) and one["bytes"] < 3e6
        assert all((folder / file).read_bytes() == (locate(one["name"]) / file).read_bytes() for file in ADAPTER_FILES)
