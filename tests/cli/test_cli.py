"""The `bertlab` command as a person uses it: from text to model to prediction, and what it says to mistakes."""

import json
import os
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from bertlab import BertForPreTraining, Tokenizer
from bertlab.cli.main import main
from bertlab.cli.shared.material import PretrainingText
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.storyworld.export import write_storyworld
from bertlab.inputs.store import TokenStore
from bertlab.vocabulary import SPECIAL_TOKENS
from tests.alike import assert_alike

SHARED = Path(__file__).parents[3] / "shared" / "data"


def process(*arguments, cwd) -> subprocess.CompletedProcess:
    """The command as a process of its own: seconds for the start alone."""
    command = [sys.executable, "-m", "bertlab", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def bertlab(*arguments, cwd) -> subprocess.CompletedProcess:
    """The command within this process."""
    out, err, code = StringIO(), StringIO(), 0
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def ok(*arguments, cwd) -> str:
    done = bertlab(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a text file and question files, and a model pretrained for two steps in `run`."""
    place = tmp_path_factory.mktemp("cli")
    write_storyworld("documents", place / "story.txt", 60, 0, "train")
    write_storyworld("questions", place / "train.json", 12, 0, "train")
    write_storyworld("questions", place / "dev.json", 6, 0, "test")
    arguments = ("--text", "story.txt", "--out", "run", "--steps", 2, "--batch-size", 4, "--device", "cpu")
    ok("pretrain", *arguments, cwd=place)
    return place


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by /dev/full")
@pytest.mark.parametrize(
    ("shell", "code", "error"),
    [
        ("info storyworld-tiny > /dev/full", 2, "bertlab: the output: no space left on the disk\n"),
        ("predict 'Jörg is here.' --model storyworld-tiny-sentiment --json | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("predict 'Jörg is here.' --model storyworld-tiny-sentiment > out.txt", 0, ""),
    ],
)
def test_output_that_cannot_be_written_is_no_traceback(tmp_path, shell, code, error):
    terms = {**os.environ, "PYTHONUNBUFFERED": "", "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    command = ["bash", "-c", f"{sys.executable} -m bertlab {shell}"]
    done = subprocess.run(command, cwd=tmp_path, env=terms, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr.replace("model: storyworld-tiny-sentiment\n", "")) == (code, error)


def test_pretrain_writes_a_run_that_is_a_checkpoint(place):
    run = place / "run"
    assert BertForPreTraining.from_pretrained(run).config.vocab_size == Tokenizer.from_pretrained(run).vocab_size
    recipe = json.loads((run / "recipe.json").read_text())
    assert (recipe["name"], recipe["steps"], recipe["batch_size"]) == ("own-text", 2, 4)
    assert (run / "metrics.csv").read_text().startswith("step,mlm_loss,masked_accuracy,nsp_loss,nsp_accuracy")
    measures = json.loads((run / "measures.json").read_text())
    assert 0 <= measures["masked_top1"] <= 1 and measures["bigram_top1"] > measures["unigram_top1"] > 0
    card = (run / "README.md").read_text()
    assert f"{measures['masked_top1']:.3f}" in card
    assert "bertlab pretrain own-text --text FILES --steps 2 --batch-size 4" in card


def test_who_interrupts_the_measuring_of_a_pretraining_is_told_how_to_go_on(place, monkeypatch):
    run = ("pretrain", "--text", "story.txt", "--steps", 2, "--batch-size", 4, "--device", "cpu", "--out", "cut")
    with monkeypatch.context() as patch:
        patch.setattr(PretrainingText, "measure", lambda *_: signal.raise_signal(signal.SIGINT))
        done = bertlab(*run, cwd=place)
    assert done.returncode == 130 and "stopped while it was measured; the same command with --resume" in done.stderr
    ok(*run, "--resume", cwd=place)
    assert (place / "cut" / "measures.json").exists() and not (place / "cut" / "resume").exists()


def test_pretrain_with_a_given_vocabulary(place):
    (place / "letters.txt").write_text("".join(f"{t}\n" for t in [*SPECIAL_TOKENS, "the", ".", *"abc", "##a"]))
    run = ("pretrain", "--text", "story.txt", "--steps", 2, "--batch-size", 4, "--device", "cpu", "--out", "given")
    ok(*run, "--vocab", "letters.txt", "--set", "lowercase=false", cwd=place)
    tokenizer = Tokenizer.from_pretrained(place / "given")
    assert (tokenizer.vocab_size, tokenizer.lowercase) == (11, False)
    assert BertForPreTraining.from_pretrained(place / "given").config.vocab_size == 11
    recipe = json.loads((place / "given" / "recipe.json").read_text())
    assert (recipe["vocab_size"], recipe["lowercase"]) == (11, False)
    assert "--vocab VOCABULARY" in (place / "given" / "README.md").read_text()


def test_predict_fills_in_masks(place):
    arguments = ("predict", "the [MASK] saw a [MASK].", "--model", "run", "--top", 3, "--json")
    rows = json.loads(ok(*arguments, cwd=place))
    assert [row["mask"] for row in rows] == [1, 1, 1, 2, 2, 2]
    assert all(0 < row["probability"] < 1 for row in rows)
    assert rows[0]["probability"] >= rows[1]["probability"]


DEFAULTS = {  # a user without --model: what they type, the model that answers, and what it says first
    "a masked word": (("He closed the [MASK] behind him.",), "english", "door"),
    "a mask in small letters": (("He closed the [mask] behind him.",), "english", "door"),
    "a review": (("A warm and funny film.",), "english-sentiment", "positive"),
    "a pair": (
        ("Two boys are playing football.", "--pair", "Some children are outdoors."),
        "english-pairs",
        "entailment",
    ),
    "a question": (
        ("--question", "Where was Marie Curie born?", "--passage", "Marie Curie was born in Warsaw in 1867."),
        "english-questions",
        "Warsaw",
    ),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_without_a_model_real_english_is_read(tmp_path, name):
    arguments, model, first = DEFAULTS[name]
    done = bertlab("predict", *arguments, "--json", cwd=tmp_path)
    assert done.stderr == f"model: {model}\n" and json.loads(done.stdout)[0]["text"] == first
    named = bertlab("predict", *arguments, "--json", "--model", model, cwd=tmp_path)
    assert named.stderr == ""
    assert_alike(json.loads(named.stdout), json.loads(done.stdout))


def test_finetune_evaluate_and_answer(place):
    options = ("--train", "train.json", "--dev", "dev.json", "--out", "qa", "--steps", 2, "--batch-size", 4)
    ok("finetune", "qa", "--model", "run", *options, "--device", "cpu", cwd=place)
    measures = json.loads(ok("evaluate", "qa", "--data", "dev.json", "--json", cwd=place))
    assert 0 <= measures["f1_low"] <= measures["f1"] <= measures["f1_high"] <= 1
    question = ("--question", "What did Rosa buy?", "--passage", "Rosa bought a kite.")
    rows = json.loads(ok("predict", *question, "--model", "qa", "--json", cwd=place))
    assert all(row["text"] in "Rosa bought a kite." for row in rows)


def test_evaluate_on_own_text(place):
    assert "masked word, first guess right" in ok("evaluate", "run", "--text", "story.txt", cwd=place)


def test_text_becomes_a_store_and_the_store_a_model(place):
    ok("data", "tokenize", "story.txt", "--model", "run", "--out", "ids", cwd=place)
    ok("pretrain", "--store", "ids", "--out", "stored", "--steps", 2, "--batch-size", 4, "--device", "cpu", cwd=place)
    assert Tokenizer.from_pretrained(place / "stored").vocab == Tokenizer.from_pretrained(place / "run").vocab
    one, other = (json.loads((place / name / "measures.json").read_text()) for name in ("run", "stored"))
    assert one["unigram_top1"] == other["unigram_top1"] and one["pairs"] == other["pairs"]  # the same text held out
    recipe = json.loads((place / "stored" / "recipe.json").read_text())
    assert recipe["vocab_size"] == Tokenizer.from_pretrained(place / "ids").vocab_size
    assert "bertlab pretrain own-text --store FOLDER --steps 2" in (place / "stored" / "README.md").read_text()


def test_a_data_set_becomes_a_store(place):
    rows = [json.dumps({"body": "Ann waits" + " and waits" * number + ". It rains."}) for number in range(5)]
    (place / "rows").mkdir()
    (place / "rows" / "a.jsonl").write_text("\n".join([*rows, '{"body": " "}']))
    done = bertlab("data", "tokenize", "--dataset", "rows", "--column", "body", "--out", "row-ids", cwd=place)
    assert done.returncode == 0 and "5 documents (1 empty left out)" in done.stderr, done.stderr
    store = TokenStore.open(place / "row-ids")
    assert store.tokenizer.decode(sum(store[4], [])) == "ann waits and waits and waits and waits and waits. it rains."


def test_questions_made_of_a_text_are_what_the_readers_read(tmp_path):
    (tmp_path / "curie.txt").write_text(
        "Marie Curie was born in Warsaw in 1867 and studied at the University of Paris."
    )
    done = bertlab("data", "cloze", "--text", "curie.txt", "--count", "3", cwd=tmp_path)
    questions = list(read_squad(tmp_path / "cloze.json"))
    assert done.stdout == f"wrote {len(questions)} questions to cloze.json\n", done.stderr
    assert 1 <= len(questions) <= 3 and all(question.answer in question.context for question in questions)


@pytest.mark.skipif(not SHARED.exists(), reason="Wikipedia is not beside the clone (../shared/data)")
def test_questions_made_of_wikipedia(tmp_path):
    done = bertlab("data", "cloze", "--data", SHARED, "--count", "20", "--out", "wiki.json", cwd=tmp_path)
    assert done.returncode == 0 and len(list(read_squad(tmp_path / "wiki.json"))) == 20, done.stderr


MISTAKES = {  # those that are told before a file is read are in tests/hostile/test_refused_before_work.py
    "unknown model": (("predict", "a [MASK]", "--model", "no-such-model"), "no-such-model"),
    "folder that is no checkpoint": (("predict", "a [MASK]", "--model", "."), "config.json is missing"),
    "no mask": (("predict", "nothing hidden", "--model", "run"), "[MASK]"),
    "only spaces": (("predict", "   ", "--model", "run"), "empty"),
    "choices, which no bundled model reads": (
        ("predict", "a", "--choices", "b", "c"),
        "no bundled model reads choices",
    ),
    "question without passage": (("predict", "--question", "who?"), "--passage"),
    "text too short": (("pretrain", "--text", "short.txt", "--out", "x"), "1 document;"),
    "own-text without text": (("pretrain", "own-text"), "--text"),
    "nothing to tokenize": (("data", "tokenize", "--out", "x"), "--dataset"),
    "store without a token": (("data", "tokenize", "spaces.txt", "--out", "x"), "spaces.txt"),
    "data set out of reach": (("data", "tokenize", "--dataset", "no/such-data", "--out", "x"), "check the name"),
    "folder that is no store": (("pretrain", "--store", "run", "--out", "x"), "store.json"),
    "broken questions": (("finetune", "qa", "--model", "run", "--train", "story.txt", "--out", "y"), "story.txt"),
    "count": (("data", "--count", "0"), "--count"),
    "questions about nothing": (("data", "cloze"), "--text"),
    "top": (("predict", "a [MASK]", "--top", "0"), "--top"),
    "vocabulary that is none": (("pretrain", "--vocab", "short.txt", "--out", "x"), "short.txt: the vocabulary has no"),
    "vocabulary and its size": (("pretrain", "--vocab", "run", "--set", "vocab_size=9"), "no effect beside --vocab"),
    "vocabulary and store": (("pretrain", "--vocab", "run", "--store", "s", "--out", "x"), "no effect beside --store"),
    "vocabulary and case": (("pretrain", "--vocab", "run", "--set", "lowercase=false"), "run says lowercase=True"),
}


@pytest.mark.parametrize(("name", "run"), [*((name, bertlab) for name in MISTAKES), ("no mask", process)])
def test_mistakes_are_one_line_and_exit_2(place, name, run):
    (place / "short.txt").write_text("One sentence only.")
    (place / "spaces.txt").write_text(" \n\n ")
    before = sorted(path.name for path in place.iterdir())
    arguments, named = MISTAKES[name]
    done = run(*arguments, cwd=place)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("bertlab: ") and len(done.stderr.strip().splitlines()) == 1
    assert named in done.stderr
    assert sorted(path.name for path in place.iterdir()) == before, "a mistake leaves nothing behind"


ODD_TEXTS = {
    "emoji": "the 🐕 is [MASK] 😀",
    "control characters": "the \x07dog\x00 is [MASK]\u200b",
    "right to left": "הכלב [MASK] مرحبا",
    "chinese": "我的狗很[MASK]",
    "script": "<script>alert(1)</script> [MASK]",
    "long": "dog " * 10_000 + "[MASK]",
    "long, mask first": "[MASK] " + "dog " * 10_000,
}


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_text_gives_guesses_or_one_clear_line(place, name):
    from bertlab.errors import InputError
    from bertlab.predict import fill_in

    try:
        rows = fill_in(ODD_TEXTS[name], place / "run", 2)
    except InputError as error:
        assert name == "long" and "\n" not in str(error)  # the mask was cut off with the rest
    else:
        assert len(rows) == 2


def test_pydoc_stands_for_the_installed_docstrings(tmp_path, monkeypatch):
    from bertlab.corpora import pydoc
    from bertlab.corpora.documents import read_sources

    monkeypatch.chdir(tmp_path)
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "a.py").write_text('"""This is all that it says."""')
    monkeypatch.setattr(pydoc, "installed", lambda: [tmp_path / "library"])
    assert [document.sentences for document in read_sources([Path("pydoc")])] == [("This is all that it says.",)]
    (tmp_path / "pydoc").write_text("A file of this name comes first.")
    assert [document.sentences for document in read_sources([Path("pydoc")])] == [("A file of this name comes first.",)]
