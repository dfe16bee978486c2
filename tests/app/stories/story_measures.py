"""What the models of the stories do, for the test that computes each claim again."""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from app.shared.model.bundled import LEFT_TO_RIGHT
from app.shared.text import texts
from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Tokenizer,
)
from bertlab.corpora import storyworld
from bertlab.corpora.labelled.tabular import film_reviews
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.knockout import Head, head_mask
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.kept_film import KeptFilm, read_film
from bertlab.explain.labels import label_text, label_words
from bertlab.explain.snapshots import HeadFrame
from bertlab.explain.spans import answer
from bertlab.explain.vectors import layer_measures, text_vectors
from bertlab.explain.words.from_left import fill_from_left
from bertlab.explain.words.next_sentence import both_orders
from bertlab.io.stories import Station

LIMIT = 128
TINY, ENGLISH = "storyworld-tiny", "english"


@cache
def model(kind: type, name: str, random: bool = False):
    found = kind.from_pretrained(name).eval()
    return random_control(found) if random else found


tokenizer = cache(Tokenizer.from_pretrained)


def chosen(station: Station) -> dict:
    """What a link chooses; a list where it chooses several."""
    found: dict = {}
    for key, value in station.choices:
        found[key] = [*found[key], value] if key in found else [value]
    return {key: values if len(values) > 1 else values[0] for key, values in found.items()}


def percent(*shares) -> list[float]:
    return [100 * float(share) for share in shares]


def weights(name: str, text: str, query: str, key: str, random: bool = False) -> Tensor:
    """How much of the attention of one word goes to another, by layer and head (L, A)."""
    maps = attention_maps(model(BertModel, name, random), tokenizer(name), text)
    return maps.weights[:, :, maps.tokens.index(query), maps.tokens.index(key)]


def attention(name: str, texts: Sequence[str], random: bool = False) -> tuple[Tensor, list[list[str]]]:
    """The attention of all heads in N texts (N, L, A, S, S), read at once, and the tokens of each with [PAD]."""
    tok = tokenizer(name)
    batch = tok(list(texts))
    with torch.inference_mode():
        layers = model(BertModel, name, random)(**batch, output_attentions=True).attentions
    return torch.stack(layers, dim=1), [tok.convert_ids_to_tokens(ids) for ids in batch["input_ids"].tolist()]


class Guesses:
    """What a BERT of English writes into a gap: the probabilities of all words (V,)."""

    def __init__(self, probabilities: Tensor):
        self.probabilities = probabilities

    def __getitem__(self, word: str) -> float:
        return float(self.probabilities[tokenizer(ENGLISH).vocab[word]])

    def best(self, count: int) -> list[str]:
        return tokenizer(ENGLISH).convert_ids_to_tokens(self.probabilities.topk(count).indices)

    @property
    def first(self) -> str:
        return self.best(1)[0]

    @property
    def highest(self) -> float:
        return float(self.probabilities.max())


@torch.inference_mode()
def filled(texts: Sequence[str], random: bool = False, off: Sequence[Head] = ()) -> list[Guesses]:
    """The guesses without the heads `off` in the one gap of each text; all are read at once."""
    tok, bert = tokenizer(ENGLISH), model(BertForPreTraining, ENGLISH, random)
    batch = tok(list(texts))
    rows, gaps = (batch["input_ids"] == tok.mask_token_id).nonzero(as_tuple=True)  # (N,) each
    assert rows.tolist() == list(range(len(texts)))
    states = bert.bert(**batch, head_mask=head_mask(bert, off)).last_hidden_state[rows, gaps]  # (N, H)
    return [Guesses(probabilities) for probabilities in bert.mlm(states).softmax(-1)]  # (N, V)


@cache
def guesses(text: str, random: bool = False, off: tuple[Head, ...] = ()) -> Guesses:
    return filled([text], random, off)[0]


def guess_from_left(text: str) -> tuple[str, float]:
    name = LEFT_TO_RIGHT[ENGLISH]
    found = fill_from_left(model(BertForPreTraining, name), tokenizer(name), text, 1, LIMIT)
    return found.tokens[0], found.probabilities[0]


def label(text: str, expected: str, pair: str | None = None, name: str = "english-sentiment") -> float:
    found = label_text(model(BertForSequenceClassification, name), tokenizer(name), text, pair).prediction
    assert found.label == expected, (text, pair, found.label)
    return found.probabilities[expected]


def opinions_on(texts: Sequence[str]) -> list[str]:
    """The label of each text; all are read at once."""
    name = "english-sentiment"
    bert = model(BertForSequenceClassification, name)
    with torch.inference_mode():
        found = bert(**tokenizer(name)(list(texts))).logits.argmax(-1)  # (N, labels) -> (N,)
    return [bert.config.id2label[number] for number in found.tolist()]


def names(text: str) -> tuple[list[tuple[str, str]], float]:
    """The names in a text with their kinds, and the probability of its first word's label."""
    name = "english-names"
    found = label_words(model(BertForTokenClassification, name), tokenizer(name), text)
    return [(text[one.start : one.stop], one.kind) for one in found.names], found.prediction.probabilities[0]


def answered(station: Station, expected: str, question: str = "", passage: str = "", random: bool = False) -> float:
    """The probability of the answer, which is as expected."""
    given = next(iter(texts.TOWN.questions.values())) | chosen(station)
    asked = question or given["question"], passage or given["text"]
    name = chosen(station)["model"]
    found = answer(model(BertForQuestionAnswering, name, random), tokenizer(name), *asked)
    assert random or found.best.text == expected, found.best.text
    return found.best.probability


@cache
def separated(name: str, which: str, pooling: str, random: bool = False) -> tuple[list[float], float]:
    """How often neighbours name the label after each layer, as the page on embeddings measures it, and chance."""
    stored = which == "film reviews"
    examples = list(film_reviews() if stored else getattr(storyworld, which)(seed=0, count=240, split="test"))
    rows = text_vectors(model(BertModel, name, random), tokenizer(name), [e.text for e in examples], pooling, LIMIT)
    found = [layer.neighbours for layer in layer_measures(rows, [e.label for e in examples])]
    return [layer.accuracy for layer in found], found[0].chance


def follows(text: str, pair: str, random: bool = False) -> list[float]:
    found = both_orders(model(BertForPreTraining, TINY, random), tokenizer(TINY), text, pair, LIMIT)
    return percent(*(verdict.probability for verdict in found))


@cache
def film() -> KeptFilm:
    return read_film(ENGLISH)


def frames(number: int) -> list[HeadFrame]:
    """Where the heads attended in a sentence of the film, step by step."""
    return film().heads(number, tokenizer(ENGLISH))
