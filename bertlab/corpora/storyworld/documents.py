"""Documents, questions and labelled sentences of the small town."""

import random
from collections.abc import Iterator
from itertools import count as forever
from itertools import cycle

from bertlab.corpora.examples import Document, QAExample, TextExample
from bertlab.corpora.storyworld import scenes
from bertlab.corpora.storyworld.scenes import errands, home, nature, people, trips
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import World


def documents(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[Document]:
    """Yield `count` documents (None: without end). The same (seed, split) always gives the same documents.

    Documents of "dev" and "test" are built from combinations (name with job, thing with colour, who with what
    was in the way ...) that no training document holds.
    """
    for rng in generators("documents", seed, count, split):
        sentences = tell_document(rng, split)
        yield Document(tuple(s.text for s in sentences), title=f"storyworld {split} {seed}")


def tell_document(rng: random.Random, split: str) -> list[Sentence]:
    """Write an opening, a few scenes that share one state with reasons and small habits between them, and a closing."""
    world = World(rng, split)
    middle = list(dict.fromkeys(rng.sample(scenes.SCENES, rng.randint(3, 4))))
    for extra in (rng.choice(scenes.BECAUSE), rng.choice(scenes.BECAUSE), people.habits):
        if rng.random() < 0.6:
            middle.insert(rng.randint(0, len(middle)), extra)
    chosen = [rng.choice(scenes.OPENINGS), *middle, rng.choice(scenes.CLOSINGS)]
    return list(_flowing((sentence for scene in chosen for sentence in scene(world)), rng))


def _flowing(sentences: Iterator[Sentence], rng: random.Random) -> Iterator[Sentence]:
    """Join some sentences in pairs: each author does so at a rate, and with a mark, of their own."""
    rate, mark = rng.choice((0.2, 0.5, 0.8)), rng.choice(("; ", " – "))
    for sentence in sentences:
        if sentence.text.endswith(".") and rng.random() < rate:
            following = next(sentences, None)
            sentence = sentence if following is None else sentence.joined(mark, following)
        yield sentence


def questions(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[QAExample]:
    """Yield questions on passages of a few sentences; a third has no answer in its passage."""
    for number, rng in enumerate(generators("questions", seed, count, split)):
        yield _question(rng, split, f"storyworld-{split}-{seed}-{number}")


def _question(rng: random.Random, split: str, name: str) -> QAExample:
    """Return a question and a passage of a document, which answers it or, in a third of the cases, does not."""
    impossible = rng.random() < 1 / 3
    while True:
        sentences = tell_document(rng, split)
        first = rng.randint(0, len(sentences) - 2)
        window = range(first, min(len(sentences), first + rng.randint(2, 8)))
        index, question, slot = rng.choice([(i, q, a) for i, s in enumerate(sentences) for q, a in s.asks])
        start, end = sentences[index].spans[slot]
        answer, kind = sentences[index].text[start:end], slot.rstrip("'")
        shown = [sentences[i] for i in window]
        answers = {s.answer(question).lower() for s in shown if question in dict(s.asks)}
        if impossible:
            passage = [s.text for s in shown if answer.lower() not in s.text.lower()]
            if len(passage) >= 2 and answers <= {answer.lower()}:
                return QAExample(name, question, " ".join(passage), "", -1, kind=kind)
        elif index in window and len(answers) == 1:
            passage = [s.text for s in shown]
            offset = sum(len(text) + 1 for text in passage[: index - first]) + start
            return QAExample(name, question, " ".join(passage), answer, offset, kind=kind)


TOPICS = {
    "work": people.at_work,
    "shopping": errands.coloured_thing,
    "food": home.meal,
    "journey": trips.journey,
    "weather": home.weather,
    "animals": nature.facts,
}


def labelled_sentences(seed: int = 0, count: int = 120, split: str = "test") -> list[TextExample]:
    """Short texts of two sentences, each from a scene on one of six topics, in turn."""
    topics = cycle(TOPICS.items())
    texts = []
    for number, rng in enumerate(generators("labelled", seed, count, split)):
        label, scene = next(topics)
        sentences = [sentence.text for sentence in scene(World(rng, split))]
        first = rng.randrange(len(sentences) - 1)
        texts.append(TextExample(str(number), " ".join(sentences[first : first + 2]), label=label))
    return texts


def generators(purpose: str, seed: int, count: int | None, split: str) -> Iterator[random.Random]:
    for number in forever() if count is None else range(count):
        yield random.Random(f"{purpose}-{split}-{seed}-{number}")
