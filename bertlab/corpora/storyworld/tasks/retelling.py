"""A sentence, and the same in other words: what an encoder alone cannot write."""

from collections.abc import Iterator

from bertlab.corpora.examples import TextExample
from bertlab.corpora.storyworld.tasks.facts import worlds
from bertlab.corpora.storyworld.tasks.matching import FRAMES


def retelling(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield sentences and, as their `pair`, how they are to be retold: "Ann lent Tom a pen." "Tom borrowed a pen from
    Ann." Every sentence has one right retelling, by the same author."""
    for name, w in worlds("retelling", seed, count, split):
        frame = w.rng.choice(FRAMES)
        slots, _ = frame.draw(w)
        text, pair = (w.teller.tell(telling, slots).text for telling in frame.tellings[:2])
        yield TextExample(name, text, pair)
