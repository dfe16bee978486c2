"""Write what the siblings of `english` learn from and are measured on, and train them as adapters (LoRA).

    python data/make/siblings.py texts --data FOLDER --out WORK
    python data/make/siblings.py train --out WORK --only names pairs
    python data/make/siblings.py calibrate --out WORK --only sentiment questions
    python data/make/siblings.py train --out WORK --only next left-to-right --english ENGLISH --minutes 4

FOLDER holds the data sets in their makers' formats (each with its SOURCE.txt): imdb, sentence_polarity, squad, wnut17,
uner_ewt, nli_dev, wikipedia_2019. `texts` writes WORK/NAME/train, dev and test files. No text is in two, and what is
measured on is not learned from (but for 55 short sentences of UNER-EWT: see the card of english-names). `train` runs
one `bertlab finetune --lora` for each, which its card repeats. `next` and `left-to-right` go on pretraining instead,
from the token store that data/make/english.py wrote into ENGLISH, and print what they know of the held-out text there.
"""

import argparse
import json
import lzma
import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from benchmarks.finetuning.learning_curve import READ, Labelled
from bertlab.__main__ import main as bertlab
from bertlab.corpora.english.large import read_articles
from bertlab.corpora.english.measured import measured_passages
from bertlab.corpora.english.overlap import Overlap, Removed, without_overlap
from bertlab.corpora.examples import Document, QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.parts import keep_apart
from bertlab.corpora.labelled.squad import read_squad, squad_text
from bertlab.corpora.labelled.tabular import read_table
from bertlab.corpora.storyworld.export import conll_text, csv_text
from bertlab.evaluation.calibration import CALIBRATION, as_json, bins
from bertlab.evaluation.measures import evaluate_left_to_right, evaluate_pretraining
from bertlab.inputs.masking import Masking
from bertlab.inputs.store import TokenStore
from bertlab.io.atomic import atomic_write
from bertlab.model import BertForPreTraining
from bertlab.model.lora import adapt
from bertlab.tasks.base import Compared
from bertlab.tasks.registry import open_task
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, token_ids
from bertlab.training.engine.optim import suited_optimization
from bertlab.training.initial_weights import new_model
from bertlab.training.objective import LOSSES, Objective, bert_operations
from bertlab.training.pretrain import pretrain
from bertlab.training.recipes import PretrainRecipe
from bertlab.training.run_settings import PretrainSettings

OURS = Path(__file__).parents[1] / "english"
# WNUT-17's; works and products are none
KINDS = {"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"}
OFTEN = {"imdb": 1, "mr": 6, "opinions": 12}  # a review of IMDB makes several rows, and there are many of them
MORE = {"opinions.csv": 2, "plain-opinions.csv": 4}  # most of the first are put so that no single word judges
WEB_OFTEN = 3  # its rules of what is a name are not quite ours, and it is what is measured
CHOSEN_BY = 500
NAMES = {"neg": "negative", "pos": "positive"}
NO_ANSWER = 4  # one question of SQuAD in so many is also asked of another passage of its article


def opinions(data: Path, out: Path) -> None:
    """Film reviews of IMDB and MR, and opinions of other things in data/english: 2,000 of each set, or the topics kept
    apart, to measure on, and 500 of each set of films to choose by."""
    parts: dict[str, list[TextExample]] = {
        "train": [row for file, often in MORE.items() for row in [*read_table(OURS / "more" / file)] * often],
        "dev": [],
    }
    for name, read in READ.items():
        known, test = map(labelled, read(OURS if name == "opinions" else data))
        chosen_by = 0 if name == "opinions" else CHOSEN_BY
        parts["dev"] += known[:chosen_by]
        parts["train"] += known[chosen_by:] * OFTEN[name]
        atomic_write(out / f"test-{name}.csv", csv_text(test))
    for part, rows in parts.items():
        atomic_write(out / f"{part}.csv", csv_text(random.Random(0).sample(rows, len(rows))))


def labelled(rows: Labelled) -> list[TextExample]:
    return [TextExample("", text, None, NAMES.get(label, label)) for text, label in rows]


def names(data: Path, out: Path) -> None:
    """Names in tweets (WNUT-17, its kinds mapped to PER, LOC, ORG), on the web (UNER-EWT) and in data/english."""
    tweets = [e for file in ("wnut17train.conll", "emerging.dev.conll") for e in read_conll(data / "wnut17" / file)]
    web, chosen_by = keep_apart(list(read_conll(data / "uner_ewt" / "dev.conll")), 5)
    ours = [e for file in ("names-train.conll", "more/names.conll") for e in read_conll(OURS / file)]
    atomic_write(out / "train.conll", conll_text([*map(three_kinds, tweets), *web * WEB_OFTEN, *ours]))
    atomic_write(out / "dev.conll", conll_text(chosen_by))
    atomic_write(out / "test.conll", conll_text(read_conll(data / "uner_ewt" / "test.conll")))


def three_kinds(example: TokenExample) -> TokenExample:
    """Map the six kinds of WNUT-17 to the three of UNER-EWT."""
    assert example.labels is not None, "the training set is labelled"
    parted = [label.partition("-") for label in example.labels]
    labels = tuple(f"{begin}-{KINDS[kind]}" if kind in KINDS else "O" for begin, _, kind in parted)
    return replace(example, labels=labels)


def pairs(data: Path, out: Path) -> None:
    """Entailment, neutral, contradiction: the dev sets of SNLI and MNLI, a tenth to measure on."""
    examples = [e for name in ("snli", "mnli") for e in read_table(data / "nli_dev" / f"{name}_dev.csv")]
    known, test = keep_apart(examples, 10)
    train, dev = keep_apart(known, 40)
    for part, some in (("train", train), ("dev", dev), ("test", test)):
        atomic_write(out / f"{part}.csv", csv_text(some))


def questions(data: Path, out: Path) -> None:
    """SQuAD's head and questions of ours, on passages of ours (twice) and of Wikipedia, some without an answer."""
    known, chosen_by = keep_apart(list(read_squad(data / "squad" / "train-v1.1.head.json")), 20)
    ours = [e for file in ("questions-train.json", "more/questions.json") for e in read_squad(OURS / file)]
    articles = without_overlap(read_articles(data, "train", True), Overlap(measured_passages(data)), Removed())
    again = [replace(example, id=f"{example.id}-2") for example in ours]
    mixed = [*known, *ours, *again, *on_articles(articles), *without_answer(known)]
    atomic_write(out / "train.json", squad_text(random.Random(0).sample(mixed, len(mixed)), "train"))
    atomic_write(out / "dev.json", squad_text([*chosen_by, *without_answer(chosen_by)], "dev"))
    atomic_write(out / "test.json", squad_text(list(read_squad(data / "squad" / "xquad.en.json")), "XQuAD-en"))


def on_articles(articles: Iterable[Document]) -> Iterator[QAExample]:
    """Yield the questions of ours on passages of `articles`: the file says where a passage stands, and its checksum."""
    asked: dict[str, list[dict]] = {}
    with lzma.open(OURS / "more/wikipedia-questions.jsonl.xz", "rt", encoding="utf-8") as file:
        for entry in map(json.loads, file):
            asked.setdefault(entry["title"], []).append(entry)
    for article in articles:
        for entry in asked.get(article.title, ()):
            passage = " ".join(article.sentences[slice(*entry["sentences"])])
            if zlib.crc32(passage.encode()) == entry["crc32"]:
                for number, (question, answer, start) in enumerate(entry["questions"]):
                    yield QAExample(f"{entry['crc32']}-{number}", question, passage, answer, start)


def without_answer(examples: Sequence[QAExample]) -> list[QAExample]:
    """Ask every fourth question of the passage that comes next and lacks its answer, as SQuAD 2.0 does."""
    found = []
    for number in range(0, len(examples), NO_ANSWER):
        asked = examples[number]
        later = (e.context for e in examples[number:] if e.context != asked.context and asked.answer not in e.context)
        if context := next(later, None):
            empty = {"answer": "", "answer_start": -1, "others": ()}
            found.append(replace(asked, id=f"{asked.id}-none", context=context, **empty))
    return found


TEXTS: dict[str, Callable[[Path, Path], None]] = {
    "sentiment": opinions,
    "names": names,
    "pairs": pairs,
    "questions": questions,
}
FINETUNE = {
    "sentiment": "sentence --train train.csv --dev dev.csv --test test-mr.csv --steps 4000 --max-length 128",
    "names": "token --train train.conll --dev dev.conll --test test.conll --epochs 3",
    "pairs": "pair --train train.csv --dev dev.csv --test test.csv --epochs 2",
    "questions": "qa --train train.json --dev dev.json --test test.json --epochs 3 --max-length 256",
}
PRETRAIN = {"next": ("masked", "next"), "left-to-right": ("left-to-right", "none")}  # objective and second task
RANK = 16
MEASURED = 500  # texts or pairs of texts of each genre


def go_on(name: str, options: argparse.Namespace) -> None:
    """Pretrain an adapter of the base on its own text, with another objective, and print what it knows."""
    store = TokenStore.open(options.english / "text")
    tokenizer, (objective, second_task) = store.tokenizer, PRETRAIN[name]
    base = BertForPreTraining.from_pretrained(options.model, is_decoder=objective == "left-to-right")
    recipe = PretrainRecipe(
        name=f"english-{name}",
        documents=0,
        vocab_size=tokenizer.vocab_size,
        num_hidden_layers=base.config.num_hidden_layers,
        hidden_size=base.config.hidden_size,
        num_attention_heads=base.config.num_attention_heads,
        max_position_embeddings=base.config.max_position_embeddings,
        initializer_range=base.config.initializer_range,
        objective=objective,
        second_task=second_task,
        masking=Masking(rate=0.1),  # pairs are judged on text as it is: with more hidden it learned to judge that alone
        max_tokens=64,
        single_share=0.0,
        steps=20_000,
        optim=suited_optimization(base.config, RANK),
    )
    start = partial(with_adapter, opened=base, name=options.model)
    what = Objective(start, LOSSES[objective], bert_operations, saved=True)
    settings = PretrainSettings(half=True, resume=options.resume, minutes=options.minutes)
    made = pretrain(recipe, store, settings=settings, objective=what, out=options.out / recipe.name)
    print(json.dumps({recipe.name: known(made.model, tokenizer, options.english / "held-out.json")}))


def held_out_opinions(texts: Path) -> dict[str, list]:
    return {name: list(read_table(texts / f"test-{name}.csv")) for name in READ}


def held_out_questions(texts: Path) -> dict[str, list]:
    ours = list(read_squad(OURS / "questions-test.json"))
    return {"XQuAD-en": list(read_squad(texts / "test.json")), "data/english": ours}


# The sets, by name, that a sibling's calibration is of, where it is of more than those that it is measured on.
HELD_OUT: dict[str, Callable[[Path], dict[str, list]]] = {
    "sentiment": held_out_opinions,
    "questions": held_out_questions,
}


def sureness(model: Path, sets: Mapping[str, list]) -> None:
    """Print the share right of each set, and write how often the model is right when it is so sure, on all."""
    opened, task = open_task(model)
    compared: list[Compared] = []
    for name, examples in sets.items():
        found = task.compare(examples, list(task.predict(opened, examples)))
        print(f"{name}: {sum(one.gold == one.predicted for one in found) / len(found):.3f} of {len(found):,} right")
        compared += found
    atomic_write(model / CALIBRATION, as_json(bins(compared)))


def with_adapter(
    recipe: PretrainRecipe, tokenizer: Tokenizer, documents: Documents, *, opened: BertForPreTraining, name: str
) -> BertForPreTraining:
    """Return the base, of which low-rank changes and the heads learn."""
    model = new_model(recipe, tokenizer, documents, opened)
    adapt(model, name, RANK, torch.Generator().manual_seed(recipe.seed))
    return model


def known(model: BertForPreTraining, tokenizer: Tokenizer, file: Path) -> dict[str, dict[str, float]]:
    """Return what the model knows of held-out documents by genre."""
    if model.config.is_decoder:
        measured = partial(evaluate_left_to_right, texts=MEASURED)
    else:
        measured = partial(evaluate_pretraining, pairs=MEASURED)
    texts = json.loads(file.read_text(encoding="utf-8"))
    return {genre: measured(model, tokenizer, token_ids(found, tokenizer)) for genre, found in texts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("texts", "train", "calibrate"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=[*TEXTS, *PRETRAIN], default=[*TEXTS])
    parser.add_argument("--model", default="english")
    parser.add_argument("--english", type=Path, help="the folder that data/make/english.py wrote")
    parser.add_argument("--minutes", type=float, help="of next and left-to-right")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    if options.what == "texts" and options.data is None:
        parser.error("texts needs --data")
    chosen = set(options.only)
    if chosen & PRETRAIN.keys() and (options.what == "texts" or not options.english or not options.minutes):
        parser.error("next and left-to-right are trained, with --english and --minutes")
    for name in options.only:
        if name in PRETRAIN:
            go_on(name, options)
            continue
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        if options.what == "texts":
            TEXTS[name](options.data, folder)
        elif options.what == "train":
            words = [str(folder / w) if "." in w else w for w in FINETUNE[name].split()]
            out = ["--out", str(options.out / f"english-{name}")]
            resume = ["--resume"] * options.resume
            bertlab(["finetune", *words, "--model", options.model, "--lora", str(RANK), "--half", *resume, *out])
        if name in HELD_OUT and options.what != "texts":
            sureness(options.out / f"english-{name}", HELD_OUT[name](folder))


if __name__ == "__main__":
    main()
