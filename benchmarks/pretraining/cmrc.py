"""Chinese from corpus to questions: vocabulary, pretraining, and fine-tuning on CMRC 2018 (Cui et al. 2019).

    python benchmarks/pretraining/cmrc.py --data FOLDER              # hours; stopped, the same command goes on
    python benchmarks/pretraining/cmrc.py --data FOLDER --quick      # a minute: to see whether it runs

FOLDER holds cmrc2018_dev.json and cmrc2018_trial.json as their makers give them. All is learned from the articles of
the dev split, a tenth of which choose the best checkpoint; the trial split is the test set. No article is in two sets.
A question whose answer is not where its file says it is left out, and counted. --text adds Chinese text of your own to
what the encoder is pretrained on.

Each encoder is pretrained on the passages by masked words, and then fine-tuned on the questions: one with characters
masked, one with the whole words that jieba finds. "random weights" is the same encoder without pretraining; "most
shared characters" answers with the sentence of the passage that has most characters of the question. All are measured
as CMRC 2018 does, in brackets with the 95% interval that the test questions give.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.finetuning.storyworld import untrained
from benchmarks.tables import head, line
from bertlab.cli.shared.messages import say
from bertlab.config import BertConfig
from bertlab.corpora.documents import read_sources
from bertlab.corpora.examples import QAExample
from bertlab.corpora.labelled.parts import keep_apart
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.reading import Skipped
from bertlab.corpora.sentences import split_text
from bertlab.inputs.chinese import mixed_words
from bertlab.inputs.masking import Masking
from bertlab.tasks.measures import score_answers
from bertlab.tasks.registry import open_task
from bertlab.tasks.span import right_answers
from bertlab.training.engine.optim import suited_optimization
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.pretrain import pretrain
from bertlab.training.recipes import PretrainRecipe, pretrain_recipe
from bertlab.training.run_files import read_rows
from bertlab.training.run_settings import FinetuneSettings, PretrainSettings

MASKINGS = {
    "characters masked": Masking(rate=0.3),
    "whole words masked": Masking(rate=0.3, whole_word=True, chinese_words=True),
}
MEASURES = ("exact", "f1")
MAX_TOKENS = 256
HEAD = ("learned by", "exact", "F1", "seconds")
Texts = list[list[str]]


@dataclass(frozen=True)
class Corpus:
    """What is learned from, what chooses the checkpoint, what is measured on, and texts for pretraining."""

    train: Sequence[QAExample]
    dev: Sequence[QAExample]
    test: Sequence[QAExample]
    texts: Texts


def read_corpus(options: argparse.Namespace) -> Corpus:
    known, test = (read(options.data / f"cmrc2018_{split}.json") for split in ("dev", "trial"))
    train, dev = keep_apart(known, 10)  # a passage is an article
    texts = [split_text(text) for text in dict.fromkeys(example.context for example in known)]
    texts += [list(document.sentences) for document in read_sources(options.text)]
    few = slice(24) if options.quick else slice(None)
    return Corpus(train[few], dev[few], test[few], texts)


def read(path: Path) -> list[QAExample]:
    skipped = Skipped()
    examples = list(read_squad(path, skipped=skipped))
    say(f"{path.name}: {len(examples):,} questions; {skipped}" if skipped.count else f"{path.name}: {len(examples):,}")
    return examples


def encoder_recipe(name: str, options: argparse.Namespace) -> PretrainRecipe:
    """The recipe of `bertlab pretrain --text`, for long texts and a Chinese vocabulary."""
    recipe = replace(
        pretrain_recipe("own-text"),
        vocab_size=8000,
        hidden_size=256,
        second_task="none",
        single_share=0.0,
        masking=MASKINGS[name],
        steps=options.steps,
        seed=options.seed,
    )
    return replace(recipe, num_hidden_layers=1, hidden_size=64, batch_size=4) if options.quick else recipe


def question_recipe(encoder: Path, options: argparse.Namespace) -> FinetuneRecipe:
    optim = suited_optimization(BertConfig.from_pretrained(encoder))
    recipe = FinetuneRecipe("qa", str(encoder), max_length=MAX_TOKENS, epochs=options.epochs, optim=optim)
    return replace(recipe, seed=options.seed, steps=3 if options.quick else 0)


def unfinished(run: Path) -> bool:
    """Whether a run was stopped, so that it can go on."""
    return (run / "resume").is_dir()


def done(run: Path) -> bool:
    return (run / "model.safetensors").is_file() and not unfinished(run)


def seconds(run: Path) -> float:
    return read_rows(run / "metrics.csv")[-1]["seconds"]


def pretrained(name: str, corpus: Corpus, options: argparse.Namespace) -> tuple[Path, float]:
    """The run folder of the encoder, trained now if it was not yet, and its seconds."""
    run = options.out / f"encoder-{name.replace(' ', '-')}"
    if not done(run):
        say(f"{run} ...")
        settings = PretrainSettings(resume=unfinished(run))
        result = pretrain(encoder_recipe(name, options), corpus.texts, settings=settings, out=run)
        if result.stopped:
            raise SystemExit(130)
    return run, seconds(run)


def answering(encoder: Path, corpus: Corpus, options: argparse.Namespace, random: bool = False) -> tuple[Path, float]:
    """The run folder of the encoder with its head for questions, and the seconds of its training."""
    run = options.out / ("questions-random" if random else f"questions-{encoder.name}")
    if not done(run):
        say(f"{run} ...")
        recipe = question_recipe(encoder, options)
        model = untrained(recipe, corpus.train) if random else None
        settings = FinetuneSettings(resume=unfinished(run))
        result = finetune(recipe, corpus.train, corpus.dev, settings=settings, model=model, out=run)
        if result.stopped:
            raise SystemExit(130)
    return run, seconds(run)


def rows(corpus: Corpus, options: argparse.Namespace) -> Iterator[list[str]]:
    """Each way to answer, its measures on the test set and the seconds of its trainings."""
    guesses = [most_shared(example) for example in corpus.test]
    yield ["the sentence with most shared characters", *judged(corpus.test, guesses), ""]
    for number, name in enumerate(MASKINGS):
        encoder, before = pretrained(name, corpus, options)
        if not number:
            run, taken = answering(encoder, corpus, options, random=True)
            yield ["random weights", *asked(run, corpus.test), f"{taken:.0f}"]
        run, taken = answering(encoder, corpus, options)
        yield [f"pretrained, {name}", *asked(run, corpus.test), f"{before:.0f} + {taken:.0f}"]


def most_shared(example: QAExample) -> str:
    """The sentence of the passage with most characters of the question, of those the shortest."""
    question = set(mixed_words(example.question))
    return max(split_text(example.context), key=lambda s: (len(question & set(mixed_words(s))), -len(s)))


def asked(run: Path, test: Sequence[QAExample]) -> list[str]:
    model, task = open_task(run, "auto")
    return judged(test, [prediction.text for prediction in task.predict(model, test)])


def judged(test: Sequence[QAExample], answers: Sequence[str]) -> list[str]:
    found = score_answers([right_answers(example) for example in test], answers)
    return [f"{found[n]:.3f} ({found[f'{n}_low']:.3f} to {found[f'{n}_high']:.3f})" for n in MEASURES]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of CMRC 2018")
    parser.add_argument("--text", type=Path, nargs="+", default=[], help="more Chinese text for pretraining")
    parser.add_argument("--out", type=Path, default=Path("runs/cmrc"))
    parser.add_argument("--steps", type=int, help="of each pretraining; 4,000 if not given")
    parser.add_argument("--epochs", type=float, default=3.0, help="of each fine-tuning")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few steps of a tiny model on 24 questions")
    options = parser.parse_args()
    options.steps = options.steps or (5 if options.quick else 4000)
    options.out = options.out.with_name(f"{options.out.name}-quick") if options.quick else options.out
    return options


def main() -> None:
    options = arguments()
    corpus = read_corpus(options)
    sizes = " / ".join(f"{len(part):,}" for part in (corpus.train, corpus.dev, corpus.test))
    print(
        f"{sizes} questions to learn from, to choose by, to measure on; {len(corpus.texts):,} texts for pretraining\n"
    )
    print(head(HEAD))
    for row in rows(corpus, options):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
