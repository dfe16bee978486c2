"""The text that a pretraining learns from and is measured on: files, public corpora, a token store, the storyworld."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.cli.shared.messages import say
from bertlab.corpora import english
from bertlab.corpora.documents import check_sources, read_sources
from bertlab.corpora.examples import Document
from bertlab.errors import InputError
from bertlab.evaluation.baselines import Baseline, NeighbourBaselines
from bertlab.evaluation.grammar import measure_grammar
from bertlab.evaluation.held_out import (
    Learned,
    Texts,
    count_neighbours,
    counted,
    held_out,
    measure_baselines,
    measure_genres,
    measure_pretraining,
    storyworld_test,
)
from bertlab.inputs.english_store import about, english_store
from bertlab.inputs.store import TokenStore
from bertlab.model import BertForPreTraining
from bertlab.tasks.files import naming
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents
from bertlab.training.recipes import PretrainRecipe

STORYWORLD = (
    "The text is bertlab's storyworld, a seeded small town; it is measured on held-out combinations of its words. "
    "The text is under the Apache 2.0 licence."
)
UNKNOWN = 0.2  # share of [UNK] in a text; above it the user is warned


@dataclass
class PretrainingText:
    """Documents to learn from (None: the storyworld), held-out ones by genre, and what the card says of them."""

    known: Texts | TokenStore | None
    new: Mapping[str, Texts | TokenStore]
    about: str
    doubt: str = ""  # why the measures may be too good, for the user
    counts: NeighbourBaselines | None = None  # of what a run learns from, since its start

    def baselines(self, documents: Documents, tokenizer: Tokenizer, recipe: PretrainRecipe) -> list[Baseline]:
        """Measure the baselines on the held-out documents, counted on `documents`."""
        self.counts = warn_of_unknown(count_neighbours(documents, tokenizer))
        if self.doubt:
            say(self.doubt)
        try:
            return measure_baselines(list(self.new.values()) or [storyworld_test()], tokenizer, self.counts, recipe)
        except InputError as error:
            raise InputError(f"the documents kept for measuring, every 20th: {error}") from error

    def measure(self, model: BertForPreTraining, tokenizer: Tokenizer, learned: Learned) -> dict[str, float]:
        """Measure the model on the held-out documents, by genre if there are several."""
        counts = self.counts or (warn_of_unknown(counted(tokenizer, self.known)) if self.known else None)
        if counts and len(self.new) > 1:
            measures = measure_genres(model, tokenizer, counts, self.new, learned)
            return measures if model.config.is_decoder else measures | measure_grammar(model, tokenizer, counts)
        return measure_pretraining(model, tokenizer, counts, next(iter(self.new.values()), None), learned)


def warn_of_unknown(counts: NeighbourBaselines) -> NeighbourBaselines:
    """Warn if much of the counted text is [UNK], which no measure asks for; return the counts."""
    if counts.unknown > UNKNOWN:
        advice = "measures leave them out; choose a model or vocabulary for this language or script"
        say(f"{counts.unknown:.0%} of the tokens are unknown to the vocabulary ([UNK]), and the {advice}")
    return counts


def read_material(text: Sequence[Path], data: Path | None, store: Path | None = None) -> PretrainingText:
    """Read the public corpora in the folder `data`, the files `text` or the token store `store`; or the storyworld."""
    check_material(text, data, store)
    if store:
        opened = TokenStore.open(store)
        with naming(store):
            learned, kept = map(opened.part, held_out(range(len(opened))))  # numbers of documents
        about = f"Trained on {len(learned)} documents of own text, from a token store."
        return PretrainingText(learned, {"": kept}, about)
    if data:
        train, test = (list(english.read_english(data, split)) for split in ("train", "test"))
        about = english.describe(english.count_words(train), english.count_words(test))
        sentences = [document.sentences for document in train]
        return PretrainingText(sentences, _by_genre(test), about)
    if not text:
        return PretrainingText(None, {}, STORYWORLD)
    texts = [document.sentences for document in read_sources(text)]
    with naming(", ".join(map(str, text))):
        known, new = held_out(texts)
    about, doubt = f"Trained on {len(known)} documents of own text.", learned_too(known, new)
    return PretrainingText(known, {"": new}, f"{about} Note: {doubt}." if doubt else about, doubt)


def learned_too(known: Texts, new: Texts) -> str:
    """Return in words how many of the held-out documents are learned from too, if any."""
    seen = set(map(tuple, known))
    if not (shared := sum(tuple(document) in seen for document in new)):
        return ""
    return f"{shared} of the {len(new)} held-out documents stand in the text to learn from too, so measures flatter"


def check_material(text: Sequence[Path], data: Path | None, store: Path | None = None, large: bool = False) -> None:
    """Raise an InputError, before anything is read whole, if more than one text is named, if a file cannot be read, or
    if a corpus is not there (of --data the `large` ones too)."""
    if sum(map(bool, (text, data, store))) > 1:
        raise InputError("give one of --text, --data and --store")
    if data:
        english.check(data, "train", english.SOURCES + (english.LARGE_SOURCES if large else ()))
    check_sources(text)


def read_large_english(
    folder: Path, recipe: PretrainRecipe, store: Path, tokenizer: Tokenizer | None = None
) -> PretrainingText:
    """Make a token store of all public corpora to learn from; measured on the same four genres as the small ones."""
    known = english_store(folder, store, recipe.vocab_size, recipe.lowercase, tokenizer=tokenizer)
    return PretrainingText(known, _by_genre(list(english.read_english(folder, "test"))), about(store))


def _by_genre(documents: Sequence[Document]) -> dict[str, Texts]:
    return {
        genre: [document.sentences for document in documents if document.genre == genre] for genre in english.GENRES
    }
