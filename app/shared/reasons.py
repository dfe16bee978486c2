"""Which words speak for what a model says: pieces joined, and equal words told apart."""

from collections.abc import Iterable, Sequence

from app.shared import state
from bertlab.explain.attribution import Attribution
from bertlab.vocabulary import SPECIAL_TOKENS

UNKNOWN = "[UNK]"  # the one special token that stands for a word
FELT = 0.05  # nats; less than this changes nothing that one would see
Push = tuple[str, float]  # a word for Markdown, and how much it pushed


def words(pushed: Attribution, places: Iterable[int]) -> list[Push]:
    """The words and signs at some places, for Markdown, each with the sum of the pushes of its pieces."""
    found: list[tuple[str, float]] = []
    for place in places:
        token, value = pushed.tokens[place], float(pushed.values[place])
        if token.startswith("##") and found:
            found[-1] = found[-1][0] + token[2:], found[-1][1] + value
        elif token not in SPECIAL_TOKENS or token == UNKNOWN:
            found.append((token, value))
    return list(zip(told_apart([word for word, _ in found]), (value for _, value in found), strict=True))


def told_apart(words: Sequence[str]) -> list[str]:
    """The words for Markdown; of those that come more than once, each with its number."""
    return [
        (f"the {ordinal(words[: i + 1].count(word))} " if words.count(word) > 1 else "") + f"**{named(word)}**"
        for i, word in enumerate(words)
    ]


def named(word: str) -> str:
    """A sign alone would be overlooked."""
    return state.plain(word) if any(map(str.isalnum, word)) else f"“{state.plain(word)}”"


def ordinal(number: int) -> str:
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def strongest(words: Sequence[Push]) -> list[str]:
    """The two that push most towards it; fewer, or none, where no more is felt."""
    ranked = sorted((word for word in words if word[1] >= FELT), key=lambda word: -word[1])[:2]
    return [f"{word} ({state.signed(value, '+.1f')})" for word, value in ranked]


def in_a_sentence(said: str, pushed: Attribution) -> str:
    """What of the whole text speaks most for what is said, and what against it; gaps, [CLS] and [SEP] are none."""
    found, said = words(pushed, range(len(pushed.tokens))), f"“**{state.plain(said)}**”"
    towards = strongest(found)
    if not towards:
        return f"Nothing in the text speaks for {said}."
    word, value = min(found, key=lambda word: word[1])
    against = f"; {word} speaks against it ({state.signed(value, '+.1f')})" if value <= -FELT else ""
    return f"Of the text, {' and '.join(towards)} {'speak' if towards[1:] else 'speaks'} most for {said}{against}."
