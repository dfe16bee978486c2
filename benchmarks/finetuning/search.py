"""How often the right function of the installed packages is among the first that a search shows.

    python benchmarks/finetuning/search.py                          # words alone: TF-IDF and BM25
    python benchmarks/finetuning/search.py --model runs/my-search   # also with a model that learned from pairs
    python benchmarks/finetuning/search.py --raw storyworld-tiny    # also vectors alone, of any model; minutes
    python benchmarks/finetuning/search.py --questions benchmarks/finetuning/dev_questions.toml  # others

The questions are those of questions.toml beside this file, written before any search had been run; dev_questions.toml
and more_questions.toml are for choosing settings. The rank is that of the first right function among all functions of
the environment: their number, and so the figures, depend on what is installed. The last column names the questions
whose answer is not among the first five.
"""

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.tables import head, line
from bertlab.model import BertForSentenceEmbedding
from bertlab.search.ranking import Ranker, by_both, by_meaning, by_words, ranks
from bertlab.search.units import Unit, read_units
from bertlab.search.vectors import TextEncoder
from bertlab.tasks.measures import score_ranks
from bertlab.tokenizer import Tokenizer

QUESTIONS = Path(__file__).with_name("questions.toml")
HEAD = ("ranked by", "recall@1", "recall@5", "MRR", "found", "missed")


@dataclass(frozen=True)
class Question:
    """A question, and the names of all units that answer it."""

    text: str
    answers: frozenset[str]


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a TOML file: [[question]] with ask, a text, and answers, a list of names."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    return [Question(row["ask"], frozenset(row["answers"])) for row in rows]


def answer_ranks(questions: Sequence[Question], units: Sequence[Unit], ranker: Ranker) -> list[int]:
    """Return the rank of the first answer to each question; one more than there are units if none is among them."""
    found = []
    for question in questions:
        placed = zip(units, ranks(ranker(question.text)).tolist(), strict=True)
        found.append(min((rank for unit, rank in placed if unit.name in question.answers), default=len(units) + 1))
    return found


def by_tfidf(texts: Sequence[str]) -> Ranker:
    """Rank by the cosine of TF-IDF vectors, as scikit-learn makes them."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    known = vectorizer.fit_transform(texts)  # (N, words)
    return lambda question: (known @ vectorizer.transform([question]).T).toarray()[:, 0]


def rankers(units: list[Unit], model: str | None, raw: str | None, max_length: int) -> dict[str, Ranker]:
    """Return the ways to rank, by name."""
    texts = [unit.text for unit in units]
    words = by_words(texts)
    found: dict[str, Ranker] = {"TF-IDF": by_tfidf(texts), "BM25: bertlab search": words}
    if raw:
        bert, tokenizer = BertForSentenceEmbedding.from_pretrained(raw), Tokenizer.from_pretrained(raw)
        for pooling in ("mean", "cls"):
            encoder = TextEncoder(bert, tokenizer, max_length, pooling)  # type: ignore[arg-type]  # one of the two
            found[f"{raw}, {pooling}"] = by_meaning(encoder, encoder.encode(texts, progress=True))
    if model:
        found[f"meaning too: bertlab search --model {model}"] = by_both(words, TextEncoder.open(model), texts)
    return found


def row(name: str, questions: list[Question], units: list[Unit], ranker: Ranker) -> str:
    """Return one row of the table."""
    found = answer_ranks(questions, units, ranker)
    measures = score_ranks(found)
    shown = [f"{measures[key]:.2f}" for key in ("recall_at_1", "recall_at_5", "mrr")]
    missed = "; ".join(question.text for question, rank in zip(questions, found, strict=True) if rank > 5)
    return line([name, *shown, f"{sum(rank <= 5 for rank in found)} of {len(found)}", missed])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="one of bertlab finetune match, or a BERT of sentence-transformers")
    parser.add_argument("--raw", help="a checkpoint to take vectors of all functions from: means and [CLS]")
    parser.add_argument("--max-length", type=int, default=48, help="tokens that a raw model reads of each text")
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    arguments = parser.parse_args()
    questions, units = read_questions(arguments.questions), read_units(["pydoc"], progress=True)
    print(f"{len(questions)} questions to {len(units):,} functions\n")
    print(head(HEAD))
    for name, ranker in rankers(units, arguments.model, arguments.raw, arguments.max_length).items():
        print(row(name, questions, units, ranker), flush=True)


if __name__ == "__main__":
    main()
