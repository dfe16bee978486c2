"""Twenty readers of one explorer at once: does each get the answers to their own text, and does memory stay flat?

    python benchmarks/explorer/sessions.py                # needs Chromium or Chrome; memory on Linux only

Twenty pages are open in twenty browser profiles; half look at the heads of one model, half at the fill-ins of another.
In every round all of them change their text at the same moment, to one that nobody else has. What each page then
shows is compared with what the library says of that text and that model. Memory is that of the server's process, and so
is the processor time of an answer, which does not count the browsers: a class brings its own.
"""

import argparse
import os
import statistics
import time
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from benchmarks.explorer.browser import chromium, explorer, first_view
from benchmarks.speed.memory import memory

HEADS_MODEL, FILLS_MODEL = "english", "storyworld-tiny"
PEOPLE = "baker farmer doctor teacher nurse sailor painter singer writer driver".split()
THINGS = "soup bread garden river horse letter boat bridge lamp song".split()
PATIENCE = 120  # seconds, since on two cores the twentieth waits for the nineteen others


def text_of(session: int, turn: int) -> str:
    person, thing = PEOPLE[(session + turn) % len(PEOPLE)], THINGS[session // 2 % len(THINGS)]
    return f"the {person} was happy {session} because the {thing} was too [MASK] {turn}."


@cache
def opened(kind: str, name: str) -> tuple[Any, Any]:
    import bertlab

    return getattr(bertlab, kind).trained(name, optional=("pooler",)), bertlab.Tokenizer.from_pretrained(name)


class Heads:
    """A reader of the attention page: the words below name the strongest pair of the first head."""

    page, model, field = "attention", HEADS_MODEL, "Your text"

    @staticmethod
    def expected(text: str) -> str:
        from bertlab.explain.attention.maps import attention_maps

        maps = attention_maps(*opened("BertModel", HEADS_MODEL), text)
        weights = (maps.weights[0, 0] * 255).round()
        place = int(weights.argmax())
        first, second = (maps.tokens[i] for i in divmod(place, len(maps.tokens)))
        rows = " ".join(maps.tokens)
        return f"{rows} Strongest here: “{first}” attends to “{second}” with weight {weights.max() / 255:.2f}."

    @staticmethod
    def shown(tab) -> str:
        return " ".join([*tab.locator(".rows b").all_inner_texts(), tab.locator(".said").inner_text()])


class Fills:
    """A reader of the page Play: the chart names the likeliest words and their probabilities."""

    page, model, field = "play", FILLS_MODEL, "Your sentence"

    @staticmethod
    def expected(text: str) -> str:
        from bertlab.draw.percent import percent
        from bertlab.explain.words.guess import guess_words

        fill = guess_words(*opened("BertForPreTraining", FILLS_MODEL), text, k=3).fill
        return " ".join(f"{token} {percent(p)}" for token, p in zip(fill.tokens, fill.probabilities, strict=True))

    @staticmethod
    def shown(tab) -> str:
        words = tab.locator("[data-testid=stVegaLiteChart] svg").first.locator("text").all_text_contents()
        half = len(words) // 2
        return " ".join(f"{token} {share}" for token, share in zip(words[:3], words[half : half + 3], strict=False))


class Reader:
    """One session: its page, and what it should show next."""

    def __init__(self, browser, address: str, number: int):
        self.number, self.kind, self.wanted = number, (Heads, Fills)[number % 2], ""
        self.tab = browser.new_context().new_page()
        first_view(self.tab, address, self.kind.page, f"?model={self.kind.model}")

    def ask(self, turn: int) -> None:
        text = text_of(self.number, turn)
        self.wanted = self.kind.expected(text)
        self.tab.get_by_label(self.kind.field).fill(text)

    def answered(self) -> bool:
        return self.kind.shown(self.tab) == self.wanted

    def failed(self) -> bool:
        return self.tab.locator("[data-testid=stAlertContentError], [data-testid=stException]").count() > 0


def turn_of_all(readers: list[Reader], turn: int) -> tuple[list[float], int]:
    """Seconds until each reader has their own answer, and how many never had it or saw an error."""
    for reader in readers:
        reader.ask(turn)
    for reader in readers:
        reader.tab.keyboard.press("Control+Enter")
    start, waiting, seconds = time.perf_counter(), set(readers), []
    while waiting and time.perf_counter() - start < PATIENCE:
        for reader in [reader for reader in waiting if reader.answered()]:
            waiting.remove(reader)
            seconds.append(time.perf_counter() - start)
        time.sleep(0.02)
    for reader in waiting:
        print(f"session {reader.number}: wanted {reader.wanted!r}, shown {reader.kind.shown(reader.tab)!r}")
    return seconds, len(waiting | {reader for reader in readers if reader.failed()})


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far; nan if the system does not say."""
    place = Path(f"/proc/{pid}/stat")
    if not place.exists():
        return float("nan")
    user, system = place.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--turns", type=int, default=10, help="texts of each session")
    arguments = parser.parse_args()
    heads = (
        "texts so far",
        "median wait, s",
        "longest, s",
        "wrong or failed",
        "server, s of processor a text",
        "server, MB",
    )
    table = Table(*heads)
    with chromium() as browser, explorer() as (address, pid):
        readers = [Reader(browser, address, n) for n in tqdm(range(arguments.sessions), "opening pages")]
        for turn in tqdm(range(arguments.turns), "changing texts"):
            before = processor_seconds(pid)
            seconds, wrong = turn_of_all(readers, turn)
            cost = (processor_seconds(pid) - before) / len(readers)
            waits = (statistics.median(seconds), max(seconds)) if seconds else (float("nan"),) * 2
            done = arguments.sessions * (turn + 1)
            waited, grown = [f"{wait:.1f}" for wait in waits], f"{memory(process=pid):,.0f}"
            table.add_row(str(done), *waited, str(wrong), f"{cost:.2f}", grown)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
