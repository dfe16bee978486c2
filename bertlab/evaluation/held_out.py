"""Whole evaluations, as the command line and the model cards report them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from bertlab.corpora import storyworld
from bertlab.errors import InputError
from bertlab.evaluation.baselines import (
    Baseline,
    NeighbourBaselines,
    masked_baselines,
    measure_guesses,
    next_token_batches,
    next_words,
    simple_guesses,
)
from bertlab.evaluation.measures import evaluate_left_to_right, evaluate_pretraining, evaluate_probes
from bertlab.inputs.pairs import SecondTask
from bertlab.inputs.store import TokenStore
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, token_ids
from bertlab.training.recipes import PretrainRecipe

T = TypeVar("T")
Texts = Sequence[Sequence[str]]  # documents of sentences
Known = Texts | TokenStore | NeighbourBaselines  # a text to count the baselines on, or these as counted already
TEST_DOCUMENTS, COUNTED_DOCUMENTS, LEAST_DOCUMENTS = 600, 6000, 10
TEST_TOKENS, COUNTED_TOKENS = 500_000, 5_000_000
BASELINE_PAIRS = 500
COUNTS = ("masked_tokens", "pairs", "next_tokens", "texts")


@dataclass(frozen=True)
class Learned:
    """What a model was pretrained on, and is therefore measured on."""

    second_task: SecondTask = "next"
    max_tokens: int = 128  # measured with at most these, so that models can be compared


def held_out(texts: Sequence[T], every: int = 20) -> tuple[list[T], list[T]]:
    """Split documents: (those to learn from, every 20th, at least two, to measure on).

    InputError: there are fewer than four documents, which leaves nothing to pair sentences with.
    """
    if len(texts) < 4:
        made = f"{len(texts)} document" + "s" * (len(texts) != 1)
        advice = "give more or longer files, with a blank line between paragraphs"
        raise InputError(f"the text makes {made}; at least 4 are needed: {advice}")
    every = min(every, len(texts) // 2)
    kept = [text for i, text in enumerate(texts) if i % every]
    return kept, [text for i, text in enumerate(texts) if not i % every]


def measure_pretraining(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    known: Known | None = None,
    new: Texts | TokenStore | None = None,
    learned: Learned = Learned(),  # noqa: B008 (frozen, so safe to share)
) -> dict[str, float]:
    """Measure masked words, next sentences and baselines (counted on `known`) on `new` text, by default on held-out
    combinations of the storyworld, with the right-context probes. Token stores are sampled.

    A left-to-right language model is measured on next tokens instead, without probes.
    """
    probes: dict[str, float] = {}
    if new is None:
        known = known or [d.sentences for d in storyworld.documents(0, COUNTED_DOCUMENTS)]
        new = storyworld_test()
        if not model.config.is_decoder:
            probes = evaluate_probes(model, tokenizer, storyworld.probes())
    counts = counted(tokenizer, known) if known else None
    return _measure(model, tokenizer, new, counts, learned) | probes


def storyworld_test() -> Texts:
    """Return documents of the storyworld with combinations that training never shows."""
    return [d.sentences for d in storyworld.documents(0, TEST_DOCUMENTS, "test")]


def measure_genres(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    known: Known,
    genres: Mapping[str, Texts | TokenStore],
    learned: Learned = Learned(),  # noqa: B008
) -> dict[str, float]:
    """Measure the same on held-out texts of several genres: first the means over genres, then, as `masked_top1:novel`,
    the measures of each."""
    baselines = counted(tokenizer, known)
    found = {genre: _measure(model, tokenizer, texts, baselines, learned) for genre, texts in genres.items()}
    of_one = (*COUNTS, *(name for name in next(iter(found.values())) if name.endswith(("_low", "_high"))))
    names = [name for name in next(iter(found.values())) if name not in of_one]
    means = {name: fmean(measures[name] for measures in found.values()) for name in names}
    return means | {f"{name}:{genre}": value for genre, one in found.items() for name, value in one.items()}


def count_neighbours(documents: Documents, tokenizer: Tokenizer) -> NeighbourBaselines:
    """Count the baselines on documents of token ids; on a sample of a store."""
    sample = _sample(documents, COUNTED_DOCUMENTS, COUNTED_TOKENS)
    return NeighbourBaselines(sample, tokenizer.vocab_size, tokenizer.all_special_ids)


def measure_baselines(
    new: Sequence[Texts | TokenStore], tokenizer: Tokenizer, counts: NeighbourBaselines, recipe: PretrainRecipe
) -> list[Baseline]:
    """Measure the baselines that the loss of a training with `recipe` is compared with, on `new` text masked alike."""
    documents = [document for texts in new for document in _ids(texts, tokenizer)]
    size = recipe.max_tokens
    if recipe.objective == "left-to-right":
        batches = next_token_batches(documents, tokenizer, max_tokens=size, texts=BASELINE_PAIRS)
        words = [next_words(batch, tokenizer.pad_token_id) for batch in batches]
        return measure_guesses(simple_guesses(counts, "the word before"), words)
    how = recipe.masking, recipe.second_task
    return masked_baselines(documents, tokenizer, counts, *how, max_tokens=size, pairs=BASELINE_PAIRS)


def counted(tokenizer: Tokenizer, known: Known) -> NeighbourBaselines:
    """Return the baselines of a text, or `known` if that is what they are."""
    if isinstance(known, NeighbourBaselines):
        return known
    return count_neighbours(known if isinstance(known, TokenStore) else token_ids(known, tokenizer), tokenizer)


def _ids(texts: Texts | TokenStore, tokenizer: Tokenizer) -> Documents:
    """Return documents to measure on, as token ids."""
    if isinstance(texts, TokenStore):
        return _sample(texts, TEST_DOCUMENTS, TEST_TOKENS)
    return token_ids(texts, tokenizer)


def _sample(documents: Documents, most: int, tokens: int) -> Documents:
    """Return at most `most` documents of a store, about `tokens` tokens; documents in memory as they are."""
    if not isinstance(documents, TokenStore):
        return documents
    length = documents.header.tokens / documents.header.documents
    return documents.sample(max(LEAST_DOCUMENTS, min(most, int(tokens / length))))


def _measure(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    new: Texts | TokenStore,
    baselines: NeighbourBaselines | None,
    learned: Learned,
) -> dict[str, float]:
    max_tokens = min(learned.max_tokens, Learned.max_tokens, model.config.max_position_embeddings)
    ids = _ids(new, tokenizer)
    if model.config.is_decoder:
        return evaluate_left_to_right(model, tokenizer, ids, baselines, max_tokens=max_tokens)
    second_task = learned.second_task
    return evaluate_pretraining(model, tokenizer, ids, baselines, max_tokens=max_tokens, second_task=second_task)
