"""One word followed through a BERT as a moving picture: a component for the explorer and for notebooks.

Its stations are the pieces, the embeddings, each layer, the logits and the guess.
"""

import json
import math
from collections.abc import Sequence

from bertlab.draw.html.component import Component, rounded
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.follow import FollowedWord

WORD = Component("word", ("word_picture.js", "word.js"))
MOST_ROWS = 24  # tokens drawn; more would be too small to read
DRAWN_NUMBERS = 64  # of each state: the picture has no room for more
Link = tuple[str, str]  # address and name of a page


def pack(
    word: FollowedWord,
    name: str = "trained",
    control: FollowedWord | None = None,
    truth: str | None = None,
    links: Sequence[Link] = (),
    choose: bool = False,
) -> bytes:
    """Return what word.js draws, as JSON in bytes.

    `control` is the same word in a random-weights model, `truth` the token that [MASK] hides; `links` has a page for
    each station, ("", "") for none. `choose`: another token can be pressed, which the component reports as
    {"follow": position}.
    """
    rows = drawn_rows(word)
    data = {
        "name": name,
        "tokens": [word.tokens[row] for row in rows],
        "positions": rows,
        "followed": rows.index(word.position),
        "layers": word.attention.shape[0],
        "heads": word.attention.shape[1],
        "folded": f"the {len(rows)} of {len(word.tokens)} tokens that get most attention"
        * (len(rows) < len(word.tokens)),
        "stations": station_names(word),
        "sets": [_described(one, rows, truth) for one in (word, control) if one is not None],
        "links": list(links),
        "choose": choose,
    }
    return json.dumps(data, allow_nan=False).encode()


def drawn_rows(word: FollowedWord) -> list[int]:
    """Return the positions that are drawn: all, or those that get the most attention and the followed one."""
    most = word.attention.sum((0, 1)).clone()  # (L, A, S) -> (S,)
    most[word.position] = float("inf")
    return sorted(most.topk(min(MOST_ROWS, len(most))).indices.tolist())


def station_names(word: FollowedWord) -> list[str]:
    layers = [f"Layer {layer + 1}" for layer in range(len(word.attention))]
    return ["Pieces", "Embeddings", *layers, "Logits", "Guess"]


def _described(word: FollowedWord, rows: Sequence[int], truth: str | None) -> dict:
    guess = word.lens.layers[-1]
    return {
        "norms": rounded(word.norms[:, rows]),
        "attention": rounded(word.attention[:, :, rows]),
        "states": rounded(word.states[:, :DRAWN_NUMBERS]),
        "lens": [[fill.tokens[0], percent(fill.probabilities[0])] for fill in word.lens.layers],
        "guesses": [
            [token, f"{logit:.1f}", p, percent(p)]
            for token, logit, p in zip(guess.tokens, word.logits, guess.probabilities, strict=True)
        ],
        "said": station_texts(word, truth),
    }


def station_texts(word: FollowedWord, truth: str | None = None) -> list[str]:
    """Return the numbers of each station in sentences."""
    layers = [layer_text(word, layer) for layer in range(len(word.attention))]
    return [pieces_text(word, truth), embeddings_text(word), *layers, logits_text(word), guess_text(word, truth)]


def pieces_text(word: FollowedWord, truth: str | None) -> str:
    hidden = f" [MASK] hides “{truth}”:" if truth else " At [MASK] a word is missing:"
    return (
        f"The text becomes {len(word.tokens)} tokens of the vocabulary, [CLS] and [SEP] around it; ## continues a word."
        f"{hidden} the model must find it from the words on both sides. Follow it, position {word.position}."
    )


def embeddings_text(word: FollowedWord) -> str:
    of_word, of_position, of_segment = word.norms[:, word.position].tolist()
    return (
        f"Each token becomes the sum of three vectors of {word.states.shape[1]} numbers, scaled by LayerNorm. Their "
        f"lengths for [MASK]: word {of_word:.2f}, position {of_position:.2f}, segment {of_segment:.2f}. The word "
        "vector of [MASK] is the same everywhere; position and segment tell one gap from another."
    )


def layer_text(word: FollowedWord, layer: int) -> str:
    heads, mean = word.attention[layer], word.attention[layer].mean(0)  # (A, S), (S,)
    first, second = mean.topk(2).indices.tolist()
    head, token = divmod(int(heads.argmax()), heads.shape[1])
    attention, feed_forward = word.updates[layer].tolist()
    guesses = _best(word.lens.layers[layer + 1])
    return (
        f"At [MASK], {_count(len(heads), 'head')} attend to all {len(mean)} tokens, left and right: on average most to "
        f"{_quoted(word, first)} ({mean[first]:.2f}) and {_quoted(word, second)} ({mean[second]:.2f}); "
        f"head {head + 1} gives {_quoted(word, token)} {heads[head, token]:.2f}. They add a vector {attention:.1f} "
        f"times as long as the residual stream, the feed-forward network one of {feed_forward:.1f} times. "
        f"Read out here (logit lens): {guesses}."
    )


def logits_text(word: FollowedWord) -> str:
    best = ", ".join(f"“{t}” {x:.1f}" for t, x in zip(word.lens.layers[-1].tokens[:3], word.logits, strict=False))
    return (
        f"The masked-word head compares the last state with the vectors of all {word.vocab_size:,} tokens of the "
        f"vocabulary. Each gets a logit, the higher the better it fits: {best}."
    )


def guess_text(word: FollowedWord, truth: str | None) -> str:
    fill = word.lens.layers[-1]
    hidden, choices = f" The hidden word: “{truth}”." if truth else "", math.exp(fill.entropy)
    return (
        f"Softmax makes probabilities of the logits: {_best(fill)}. The model is as uncertain as in an even "
        f"choice among {choices:,.{0 if choices > 10 else 1}f} of {word.vocab_size:,} tokens.{hidden}"
    )


def _best(fill: Fill) -> str:
    return ", ".join(f"“{t}” {percent(p)}" for t, p in zip(fill.tokens[:3], fill.probabilities, strict=False))


def _quoted(word: FollowedWord, position: int) -> str:
    return "itself" if position == word.position else f"“{word.tokens[position]}”"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}s" if number > 1 else f"one {noun}"


def word_widget(
    word: FollowedWord, name: str = "trained", control: FollowedWord | None = None, truth: str | None = None
):
    """Return the moving picture as an anywidget for notebooks."""
    return WORD.widget(pack(word, name, control, truth))
