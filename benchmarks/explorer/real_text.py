"""What Play and Tasks say of text such as a visitor types: right, not sure, or wrong and sure.

    python benchmarks/explorer/real_text.py                # the counts, and each text that is not answered right
    python benchmarks/explorer/real_text.py --write        # also puts the counts into docs/explorer.md
    python benchmarks/explorer/real_text.py --thresholds   # how often first guesses are right, by their probability

The texts are in benchmarks/explorer/texts; no model was trained or calibrated on them. Each is asked with the functions
that the pages call, of the model that a page opens with. "Not sure" is what the page calls a guess, whether it is right
or not. Of a sentence with names all have to be found, with the right kind; it is wrong and sure if a name is missing,
wrong or too much and no word of it is marked as doubtful. The thresholds are looked at on the texts of data/english.
"""

import argparse
import csv
import json
import logging
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.shared.model import models
from app.shared.model.bundled import DEFAULT_MODEL
from app.shared.page import confidence
from app.views.play import guesses
from app.views.play.gap import Version
from app.views.tasks import names, opinion, the_answer
from bertlab.corpora.examples import QAExample
from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.sentences import split_sentences
from bertlab.explain.labels import Name, capital_inside, label_text, label_words
from bertlab.explain.spans import Answer
from bertlab.io.atomic import atomic_write
from bertlab.tasks.measures import answer_score
from bertlab.tasks.span import right_answers
from bertlab.tasks.token import entities

ROOT = Path(__file__).parents[2]
TEXTS, OTHERS, PAGE = Path(__file__).parent / "texts", ROOT / "data" / "english", ROOT / "docs" / "explorer.md"
RIGHT, UNSURE, WRONG = "right", "not sure", "wrong and sure"
HEAD = f"| | texts | {RIGHT} | {UNSURE} | {WRONG} |"
EDGES = [number / 10 for number in range(11)]


@dataclass(frozen=True)
class Reply:
    """What a page says of one text, what is right, and whether the page says so without a doubt."""

    text: str
    said: str
    wanted: str
    is_right: bool
    is_sure: bool

    @property
    def outcome(self) -> str:
        return UNSURE if not self.is_sure else RIGHT if self.is_right else WRONG


def rows(name: str) -> list[dict[str, str]]:
    with (TEXTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def gaps() -> Iterator[Reply]:
    loaded = models.stand_in("fill", DEFAULT_MODEL)
    for row in rows("gaps.csv"):
        found = guesses.asked(loaded, Version(row["text"], 0, None, row["text"])).fill
        word, accepted = found.tokens[0], row["accepted"].split("|")
        yield Reply(row["text"], word, row["accepted"], word in accepted, guesses.is_sure(found))


def opinions(file: str) -> Iterator[Reply]:
    loaded = models.stand_in("text label", DEFAULT_MODEL)
    for row in rows(file):
        labelled = models.compute(label_text, loaded, row["text"], None, loaded.limit)
        ranked, measured = opinion.verdict(loaded, labelled.said, row["text"])
        label, doubt = ranked[0][0], confidence.doubt(ranked, confidence.LABEL, measured)
        yield Reply(row["text"], label, row["label"], label == row["label"], not doubt)


def sentences(file: Path) -> Iterator[tuple[str, list[Name]]]:
    """Yield each sentence of a CoNLL file as it is typed (its comment "text", or else its words), and its names."""
    typed = re.findall(r"^# text = (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for number, example in enumerate(read_conll(file)):
        text = typed[number] if typed else " ".join(example.words)
        ends = [0]
        for word in example.words:
            ends.append(text.index(word, ends[-1]) + len(word))
        found = entities(example.words, example.labels or ())
        starts = [end - len(word) for end, word in zip(ends[1:], example.words, strict=True)]
        yield text, [Name(starts[one.first], ends[one.last + 1], one.kind) for one in found]


def name_lists() -> Iterator[Reply]:
    loaded = models.stand_in("word labels", DEFAULT_MODEL)
    for text, wanted in sentences(TEXTS / "names.conll"):
        labelled = models.compute(label_words, loaded, text, loaded.limit)
        mistakes, doubted = set(labelled.names) ^ set(wanted), names.doubted(loaded, labelled)
        sure = [one for one in mistakes if not any(one.start <= start < one.stop for start, _ in doubted)]
        is_sure = bool(sure) or not (mistakes or doubted)
        yield Reply(text, listed(text, labelled.names), listed(text, wanted), not mistakes, is_sure)


def listed(text: str, found: Iterable[Name]) -> str:
    return ", ".join(f"{text[one.start : one.stop]} {one.kind}" for one in found)


def answers() -> Iterator[Reply]:
    loaded = models.stand_in("answer", DEFAULT_MODEL)
    for example, found, is_right in answered(TEXTS / "questions.json"):
        said, wanted = (text or "no answer" for text in (found.best.text, example.answer))
        ranked, measured = the_answer.verdict(loaded, found)
        doubt = confidence.doubt(ranked, confidence.ANSWER, measured)
        yield Reply(example.question, said, wanted, is_right, not doubt)


def answered(file: Path) -> Iterator[tuple[QAExample, Answer, bool]]:
    """Yield each question of a SQuAD file, its answer, and whether that is right (SQuAD's exact match)."""
    loaded = models.stand_in("answer", DEFAULT_MODEL)
    for example in read_squad(file):
        found = the_answer.Reading(loaded, example.question, example.context).found
        exact, _ = answer_score(right_answers(example), found.best.text)
        yield example, found, exact == 1


KINDS: dict[str, Callable[[], Iterator[Reply]]] = {
    "gaps": gaps,
    "opinions": partial(opinions, "opinions.csv"),
    "plain opinions": partial(opinions, "plain-opinions.csv"),
    "sentences with names": name_lists,
    "questions": answers,
}


def table(replies: dict[str, list[Reply]]) -> str:
    lines = [HEAD, "|---" * 5 + "|"]
    for kind, found in replies.items():
        count = Counter(one.outcome for one in found)
        lines.append(f"| {kind} | {len(found)} | {count[RIGHT]} | {count[UNSURE]} | {count[WRONG]} |")
    return "\n".join(lines) + "\n"


def misses(replies: dict[str, list[Reply]]) -> Iterator[str]:
    for kind, found in replies.items():
        missed = [one for one in found if one.outcome != RIGHT]
        for one in sorted(missed, key=lambda one: one.outcome):
            yield f"{kind}, {one.outcome}: {one.text}\n    said: {one.said}\n    right: {one.wanted}"


def written(page: str, new: str) -> str:
    """Return a page with its table under HEAD replaced by a new one."""
    before, _, after = page.partition(HEAD)
    return before + new + re.sub(r"\A[^\n]*\n(\|[^\n]*\n)*", "", after)


def thresholds() -> Iterator[str]:
    """Say by their probability how often the first guess for a gap is the word that stood there, how often an answer is
    right, and how often a word with a capital letter inside a sentence that is labelled as no name is none."""
    yield from by_probability("first guess for a hidden word of four letters or more", hidden_words())
    replies = answered(OTHERS / "questions-test.json")
    yield from by_probability("answer", ((found.best.probability, right) for _, found, right in replies))
    yield from by_probability(
        "no name, of words with a capital letter inside a sentence", capitals(), [0, 2 / 3, 0.9, 0.99, 1]
    )


def by_probability(what: str, found: Iterable[tuple[float, bool]], edges: list[float] = EDGES) -> Iterator[str]:
    found = list(found)
    yield f"\n| {what}: probability | count | right | right, of all from here on |\n|---|---|---|---|"
    for low, high in zip(edges, edges[1:], strict=False):
        here = [right for p, right in found if low <= p < high or p == high == 1]
        above = [right for p, right in found if p >= low]
        if here:
            yield f"| {low:.2f} to {high:.2f} | {len(here)} | {share(here)} | {share(above)} |"


def share(found: list[bool]) -> str:
    return f"{sum(found) / len(found):.2f}"


def hidden_words() -> Iterator[tuple[float, bool]]:
    loaded, chosen = models.stand_in("fill", DEFAULT_MODEL), random.Random(0)
    for text in passages_and_opinions():
        one_token = [
            word for word in re.finditer(r"[A-Za-z]{4,}", text) if len(loaded.tokenizer.tokenize(word[0])) == 1
        ]
        if one_token and 6 <= len(text.split()) <= 25:
            word = chosen.choice(one_token)
            gapped = f"{text[: word.start()]}[MASK]{text[word.end() :]}"
            found = guesses.asked(loaded, Version(gapped, 0, None, gapped)).fill
            yield found.probabilities[0], found.tokens[0] == word[0].lower()


def passages_and_opinions() -> Iterator[str]:
    for name in ("questions-train.json", "questions-test.json"):
        for article in json.loads((OTHERS / name).read_text(encoding="utf-8"))["data"]:
            yield from split_sentences(article["paragraphs"][0]["context"])
    with (OTHERS / "opinions.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield from split_sentences(row["text"])


def capitals() -> Iterator[tuple[float, bool]]:
    loaded = models.stand_in("word labels", DEFAULT_MODEL)
    for text, wanted in sentences(OTHERS / "names-test.conll"):
        labelled = models.compute(label_words, loaded, text, loaded.limit)
        capital, prediction = capital_inside(text, labelled.spans), labelled.prediction
        for span, inside, label, p in zip(
            labelled.spans, capital, prediction.labels, prediction.probabilities or (), strict=True
        ):
            if inside and label == "O":
                yield p, not any(name.start <= span[0] < name.stop for name in wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the counts into docs/explorer.md")
    parser.add_argument("--thresholds", action="store_true", help="measure guesses on data/english instead")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit's, that no page is shown
    if arguments.thresholds:
        print("\n".join(thresholds()))
        return
    replies = {kind: list(ask()) for kind, ask in KINDS.items()}
    print("\n".join([*misses(replies), "", table(replies)]))
    if arguments.write:
        atomic_write(PAGE, written(PAGE.read_text(encoding="utf-8"), table(replies)))


if __name__ == "__main__":
    main()
