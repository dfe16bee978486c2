"""A mistake that options, headers and the first lines of a file show is refused before a long file is read.

Every command that reads text or examples gets files of many megabytes and an option that cannot be. It must end with
exit code 2 and one line, and must not have read the file: the system counts the bytes that a process reads.
"""

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
import torch

from bertlab import BertModel, errors
from bertlab.cli.main import main
from bertlab.inputs.store_writing import write_store
from bertlab.io.locate import data_folder
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.recipes import PRETRAIN as PRETRAIN_RECIPES
from bertlab.training.run_folder import locked
from bertlab.vocabulary import SPECIAL_TOKENS

LONG = 24_000_000  # bytes of each long file
MOST = 8_000_000  # bytes that a refusal may read: models are mapped, their tokenizers are below two million
SECONDS = 5.0  # of processor time
COUNTER = Path("/proc/self/io")
NOTICES = ("rows of ",)  # what a run says before its text is read


@dataclass(frozen=True)
class Case:
    """A command line, and what its one line must say; `lacking`: a package that is not there."""

    command: str
    words: str
    lacking: str = ""


PRETRAIN = {
    "recipe unknown": Case("tiny --text text.txt", "no pretraining recipe 'tiny': choose one of storyworld-tiny"),
    "field unknown": Case("--text text.txt --set stepz=3", "--set stepz=3"),
    "value unfit": Case("--text text.txt --set masking.rate=2", "rate"),
    "nested field unknown": Case("--text text.txt --set masking.rat=0.2", "masking.rat"),
    "rows too long": Case("--text text.txt --set max_tokens=1000", "max_tokens=1000"),
    "heads do not divide": Case("--text text.txt --set num_attention_heads=3", "num_attention_heads"),
    "no such model": Case("--text text.txt --model nowhere/at-all", "'nowhere/at-all'"),
    "no head, positions alone": Case(
        "--text text.txt --model encoder --set learns=positions", "no trained masked-word head"
    ),
    "no new positions": Case("--text text.txt --model english --set learns=positions", "english has 512 positions"),
    "wrong direction": Case("--text text.txt --model english-left-to-right", 'objective="left-to-right"'),
    "other direction": Case(
        "--text text.txt --model storyworld-tiny --set objective=left-to-right second_task=none", 'objective="masked"'
    ),
    "model cut short": Case("--text text.txt --model cut", "damaged or cut short"),
    "model of another shape": Case("--text text.txt --model reshaped", "config.json asks for"),
    "model without vocabulary": Case("--text text.txt --model wordless", "wordless"),
    "shape beside model": Case("--text text.txt --model storyworld-tiny --set hidden_size=64", "has no effect beside"),
    "teacher without a head": Case("--text text.txt --teacher encoder", "no trained masked-word head"),
    "teacher of another width": Case("--text text.txt --teacher english", "the teacher has"),
    "teacher with another vocabulary": Case(
        "--text text.txt --teacher storyworld-tiny --vocab letters.txt", "another vocabulary"
    ),
    "vocabulary beside teacher": Case(
        "--text text.txt --teacher storyworld-tiny --set vocab_size=9", "vocab_size: has no effect beside --teacher"
    ),
    "teacher and model": Case("--text text.txt --teacher english --model english", "give one"),
    "no such vocabulary": Case("--text text.txt --vocab nowhere.txt", "nowhere.txt"),
    "vocabulary beside model": Case("--text text.txt --vocab letters.txt --model english", "has no effect beside"),
    "other capitals": Case("--text text.txt --model english --set lowercase=false", "lowercase=False"),
    "store of another vocabulary": Case("--store store --model storyworld-tiny", "another vocabulary"),
    "no store": Case("--store text.txt", "no token store"),
    "text and store": Case("--text text.txt --store store", "give one of"),
    "text and data": Case("--text text.txt --data .", "give one of"),
    "no corpora": Case("--data . english-scratch", "litbank_novels: no such folder"),
    "corpora not named": Case("english-scratch", "--data"),
    "second file missing": Case("--text text.txt nowhere.txt", "nowhere.txt"),
    "second file is no text": Case("--text text.txt noise.txt", "noise.txt: not UTF-8"),
    "second file is JSON": Case("--text text.txt objects.jsonl", "objects.jsonl: begins with a JSON object"),
    "model of single texts": Case("--text text.txt --model one-segment", "--set second_task=none"),
    "second file a pipe": Case("--text text.txt pipe.txt", "pipe.txt: not a regular file"),
    "folder without text": Case("--text text.txt empty", "holds no .txt or .md file"),
    "out holds a run": Case("--text text.txt --out run", "holds a run already"),
    "out holds an unfinished run": Case("--text text.txt --out unfinished", "go on with --resume"),
    "out below a file": Case("--text text.txt --out text.txt/run", "cannot be written"),
    "out is a file": Case("--text text.txt --out text.txt", "text.txt"),
    "out is locked": Case("--text text.txt --out locked", "another training is writing to it"),
    "nothing to resume": Case("--text text.txt --resume", "no unfinished run to resume"),
    "resumed with another recipe": Case("--text text.txt --out unfinished --resume --steps 9", "another recipe"),
    "states damaged": Case("--text text.txt --out broken --resume", "no whole checkpoint"),
    "recipe edited": Case("--text text.txt --out edited --resume", "recipe.json: masking is None"),
    "no such device": Case("--text text.txt --device cuda", "device='cuda'"),
    "no device": Case("--text text.txt --devices 0", "--devices 0"),
    "no steps between states": Case("--text text.txt --save-every 0", "--save-every 0"),
    "states to keep below 0": Case("--text text.txt --keep -1", "--keep -1"),
    "no rows at a time": Case("--text text.txt --micro-batch 0", "--micro-batch 0"),
    "no rows": Case("--text text.txt --batch-size 0", "batch_size=0"),
    "no vocabulary": Case("--text text.txt --set vocab_size=0", "vocab_size=0"),
    "more processes than rows": Case("--text text.txt --device cpu --devices 4 --batch-size 2", "fewer than the 4"),
    "no such precision": Case("--text text.txt --precision int8", ""),
    "no minutes": Case("--text text.txt --minutes 0", "--minutes"),
    "minutes of shares": Case("--text text.txt --minutes 3 --set phases=0.5,64", "shares of the steps"),
    "no new dropout": Case("--text text.txt --model english --set hidden_dropout_prob=0", "no effect beside --model"),
    "a teacher of the next word": Case("--text text.txt --teacher english-left-to-right", "predicts the next word"),
    "no steps": Case("--text text.txt --steps 0", "steps=0"),
    "no rate": Case("--text text.txt --learning-rate 0", "--learning-rate"),
    "without TensorBoard": Case("--text text.txt --tensorboard", 'pip install "bertlab[tensorboard]"', "tensorboard"),
    "without Weights & Biases": Case("--text text.txt --wandb", 'pip install "bertlab[wandb]"', "wandb"),
}
FINETUNE = {
    "task unknown": Case("poem --train rows.csv", "there is no task 'poem'"),
    "field unknown": Case("sentence --train rows.csv --set stepz=3", "--set stepz=3"),
    "value unfit": Case("sentence --train rows.csv --set dropout=2", "dropout"),
    "field of another task": Case("token --train words.conll --set pooling=mean", "means nothing for the task token"),
    "no such model": Case("sentence --train rows.csv --model nowhere/at-all", "'nowhere/at-all'"),
    "model cut short": Case("sentence --train rows.csv --model cut", "damaged or cut short"),
    "rows too long": Case("sentence --train rows.csv --max-length 9999", "more than the"),
    "[CLS] of a left-to-right model": Case("sentence --train rows.csv --model english-left-to-right", "pooling=mean"),
    "freezes what is not there": Case("sentence --train rows.csv --set freeze=99", "freeze="),
    "no such file": Case("sentence --train nowhere.csv", "nowhere.csv"),
    "no such dev file": Case("sentence --train rows.csv --dev nowhere.csv", "nowhere.csv"),
    "no such test file": Case("sentence --train rows.csv --test nowhere.csv", "nowhere.csv"),
    "no such label column": Case("sentence --train rows.csv --label-column stars", "stars"),
    "no such text column": Case("sentence --train rows.csv --text-column body", "body"),
    "no second texts": Case("pair --train rows.csv", "--pair-column"),
    "pairs for a model of single texts": Case("pair --train rows.csv --model one-segment", "reads one text in a row"),
    "passages for a model of single texts": Case("qa --train rows.csv --model one-segment", "reads one text in a row"),
    "no labels": Case("sentence --train unlabelled.csv", "label"),
    "numbers that are none": Case("sentence --train rows.csv --set problem=regression", "holds no number"),
    "no choices": Case("choice --train rows.csv", "--choice-columns"),
    "words of a table": Case("token --train rows.csv", "rows.csv, line"),
    "questions of a table": Case("qa --train rows.csv", "no SQuAD file"),
    "first line is no JSON": Case("sentence --train rows.jsonl", "rows.jsonl, line 1"),
    "dev file is no text": Case("sentence --train rows.csv --dev noise.txt", "noise.txt"),
    "file and data set": Case("sentence --train rows.csv --dataset sst2", "give one of"),
    "dev without train": Case("sentence --dev rows.csv", "needs --train"),
    "out holds a run": Case("sentence --train rows.csv --out run", "holds a run already"),
    "out holds a run, folds": Case("sentence --train rows.csv --out run --folds 3", "holds a run already"),
    "out holds a run, grid": Case("sentence --train rows.csv --out run --grid", "holds a run already"),
    "out below a file": Case("sentence --train rows.csv --out text.txt/run", "text.txt/run"),
    "out is locked": Case("sentence --train rows.csv --out locked", "another training is writing to it"),
    "nothing to resume": Case("sentence --train rows.csv --resume", "no unfinished run to resume"),
    "no folds to resume": Case("sentence --train rows.csv --resume --folds 3", "no unfinished cross-validation"),
    "no grid to resume": Case("sentence --train rows.csv --resume --grid", "no unfinished grid"),
    "one fold": Case("sentence --train rows.csv --folds 1", "--folds 1"),
    "folds and a test set": Case("sentence --train rows.csv --folds 3 --test rows.csv", "leave out --test"),
    "grid and a rate": Case("sentence --train rows.csv --grid --learning-rate 1e-3", "leave out --learning-rate"),
    "folds on two devices": Case("sentence --train rows.csv --folds 3 --devices 2", "leave out --devices"),
    "control on two devices": Case("sentence --train rows.csv --control --devices 2", "leave out --devices"),
    "no device": Case("sentence --train rows.csv --devices 0", "--devices 0"),
    "no steps between states": Case("sentence --train rows.csv --save-every 0", "--save-every 0"),
    "weights without classes": Case(
        "sentence --train rows.csv --class-weights balanced --set problem=regression", "class_weights=balanced"
    ),
    "siamese": Case("sentence --train rows.csv --siamese", "--siamese: sentence sees both texts at once"),
    "no such device": Case("sentence --train rows.csv --device cuda", "device='cuda'"),
    "more processes than rows": Case("sentence --train rows.csv --device cpu --devices 4 --batch-size 2", "fewer"),
    "processes for vectors": Case("match --train rows.csv --device cpu --devices 2", "train on one device"),
    "no such precision": Case("sentence --train rows.csv --precision int8", ""),
    "without TensorBoard": Case(
        "sentence --train rows.csv --tensorboard", 'pip install "bertlab[tensorboard]"', "tensorboard"
    ),
    "without Weights & Biases": Case("sentence --train rows.csv --wandb", 'pip install "bertlab[wandb]"', "wandb"),
}
EVALUATE = {
    "text for a fine-tuned model": Case("storyworld-tiny-sentiment --text text.txt", "measure it with --data"),
    "no head": Case("encoder --text text.txt", "no trained masked-word head"),
    "no such model": Case("nowhere/at-all --text text.txt", "'nowhere/at-all'"),
    "second file missing": Case("storyworld-tiny --text text.txt nowhere.txt", "nowhere.txt"),
    "text and data": Case("storyworld-tiny --text text.txt --data .", "give one of"),
    "no corpora": Case("storyworld-tiny --data .", "litbank_novels: no such folder"),
    "no such device": Case("storyworld-tiny --text text.txt --device cuda", "--device cuda"),
    "no rows at a time": Case("storyworld-tiny --text text.txt --batch-size 0", "batch_size=0"),
    "recipe edited": Case("edited-model --text text.txt", "recipe.json: max_tokens is 'many'"),
    "labelled examples without a head": Case("storyworld-tiny --data rows.csv", "no head for labelled examples"),
    "no such label column": Case("storyworld-tiny-sentiment --data rows.csv --label-column stars", "stars"),
    "no labels": Case("storyworld-tiny-sentiment --data unlabelled.csv", "label"),
    "first line is no JSON": Case("storyworld-tiny-sentiment --data rows.jsonl", "rows.jsonl, line 1"),
}
PREDICT = {
    "without out": Case("--file rows.csv --model storyworld-tiny-sentiment", "--out"),
    "no head": Case("--file rows.csv --model storyworld-tiny --out p.jsonl", "no head for a task"),
    "no such model": Case("--file rows.csv --model nowhere/at-all --out p.jsonl", "'nowhere/at-all'"),
    "ending of another task": Case("--file rows.csv --model storyworld-tiny-sentiment --out p.conll", ".conll"),
    "out below a file": Case("--file rows.csv --model storyworld-tiny-sentiment --out text.txt/p", "cannot be written"),
    "out is a folder": Case("--file rows.csv --model storyworld-tiny-sentiment --out empty", "empty"),
    "no such column": Case(
        "--file rows.csv --model storyworld-tiny-sentiment --out p.jsonl --text-column body", "body"
    ),
    "first line is no JSON": Case(
        "--file rows.jsonl --model storyworld-tiny-sentiment --out p.jsonl", "rows.jsonl, line 1"
    ),
    "no such device": Case(
        "--file rows.csv --model storyworld-tiny-sentiment --out p.jsonl --device cuda", "--device cuda"
    ),
    "no guess": Case("--file rows.csv --model storyworld-tiny-sentiment --out p.jsonl --top 0", "--top 0"),
}
EMBED = {
    "ending": Case("rows.csv --out vectors.txt", "vectors are written as"),
    "out below a file": Case("rows.csv --out text.txt/v.npy", "cannot be written"),
    "out is a folder": Case("rows.csv --out folder.npy", "folder.npy"),
    "no such model": Case("rows.csv --out v.npy --model nowhere/at-all", "'nowhere/at-all'"),
    "no such column": Case("rows.csv --out v.npy --text-column body", "body"),
    "no length": Case("rows.csv --out v.npy --max-length 0", "max_length=0"),
    "[CLS] of a left-to-right model": Case(
        "rows.csv --out v.npy --model english-left-to-right --pooling cls", "Choose --pooling mean"
    ),
    "without pyarrow": Case("rows.csv --out v.parquet", "pyarrow is not installed", "pyarrow"),
}
SEARCH = {
    "no such model": Case("what --corpus text.txt --model nowhere/at-all", "'nowhere/at-all'"),
    "a model that learned no vectors": Case(
        "what --corpus text.txt --model storyworld-tiny", "train it to with bertlab finetune match"
    ),
    "a model of another task": Case(
        "what --corpus text.txt --model storyworld-tiny-sentiment", "gives no vectors of texts"
    ),
    "second file missing": Case("what --corpus text.txt nowhere.txt", "nowhere.txt"),
    "second file is no text": Case("what --corpus text.txt noise.txt", "noise.txt"),
    "folder without text": Case("what --corpus text.txt empty", "holds no"),
    "nothing to show": Case("what --corpus text.txt --top 0", "--top 0"),
    "a model for words alone": Case("what --corpus text.txt --by words --model english", "--by words opens no model"),
    "no question": Case(" --corpus text.txt", "the question is empty"),
}
EXPORT = {
    "without ONNX": Case("storyworld-tiny-sentiment --out o --data rows.csv", 'pip install "bertlab[export]"', "onnx"),
    "out is a file": Case("storyworld-tiny-sentiment --out text.txt --data rows.csv", "cannot be written"),
    "out of another model": Case("storyworld-tiny-sentiment --out encoder --data rows.csv", "that of another model"),
    "no head": Case("storyworld-tiny --out o --data rows.csv", "no head for a task"),
    "no such label column": Case("storyworld-tiny-sentiment --out o --data rows.csv --label-column stars", "stars"),
}
CORPUS = {
    "second file missing": Case("text.txt nowhere.txt", "nowhere.txt"),
    "second file is no text": Case("text.txt noise.txt", "noise.txt"),
    "out below a file": Case("text.txt --out text.txt/card.md", "cannot be written"),
    "out is a folder": Case("text.txt --out empty", "empty"),
    "sizes": Case("text.txt --sizes 3", "--sizes"),
    "out of another format": Case("text.txt --out card.json", "a .md file"),
}
TOKENIZE = {
    "out exists": Case("text.txt --out store", "exists already"),
    "out below a file": Case("text.txt --out text.txt/store", "text.txt"),
    "no such model": Case("text.txt --model nowhere/at-all", "'nowhere/at-all'"),
    "no processes": Case("text.txt --processes 0", "processes=0"),
    "second file missing": Case("text.txt nowhere.txt", "nowhere.txt"),
    "file and data set": Case("text.txt --dataset org/name", "--dataset"),
}
DATA = {
    "out below a file": Case("cloze --text text.txt --out text.txt/q", "cannot be written"),
    "out is a folder": Case("cloze --text text.txt --out folder.npy", "folder.npy"),
    "none": Case("cloze --text text.txt --count 0", "--count 0"),
    "text and data": Case("cloze --text text.txt --data .", "give one of"),
    "no articles": Case("cloze --data .", "wikipedia_2019: no such folder"),
    "second file missing": Case("cloze --text text.txt nowhere.txt", "nowhere.txt"),
    "sources, out not empty": Case("sources --text text.txt more.txt --out run", "holds files already"),
    "sources, out below a file": Case("sources --text text.txt more.txt --out text.txt/l", "cannot be written"),
    "sources of nothing": Case("sources", "--text"),
    "sources, one file": Case("sources --text text.txt", "two"),
    "sources, one passage": Case("sources --text text.txt more.txt --count 1", "--count 1"),
    "sources, second file missing": Case("sources --text text.txt nowhere.txt", "nowhere.txt"),
    "storyworld of a text": Case("sentiment --text text.txt", "--text is for cloze, sources, not for sentiment"),
    "a number of docstrings": Case(
        "docstrings --count 7", "--count is for the storyworld, cloze, sources, not for doc"
    ),
    "a split of a text": Case("cloze --text text.txt --split dev", "--split is for the storyworld"),
    "packages of the storyworld": Case("entities --packages torch", "--packages is for docstrings"),
    "CSV as JSON": Case("sentiment --out x.json", "a .csv file; give that ending, or none"),
    "JSON lines as JSON": Case("choices --out x.json", "a .jsonl file"),
    "columns as CSV": Case("entities --out x.csv", "a .conll file"),
    "questions as CSV": Case("cloze --text text.txt --out x.csv", "a .json file"),
    "a folder as CSV": Case("sources --text text.txt more.txt --out x.csv", "is a folder"),
    "storyworld, out below a file": Case("sentiment --count 1000000 --out text.txt/s", "cannot be written"),
    "docstrings of nothing": Case("docstrings --packages torch nowhere_at_all", "nowhere_at_all"),
}
COMPARE = {
    "table unknown": Case("tables --text text.txt", "there is no table 'tables': choose one of relatives, "),
    "no such device": Case("relatives --text text.txt --device cuda", "device='cuda'"),
    "out below a file": Case("relatives --text text.txt --out text.txt/c", "text.txt/c"),
    "out is locked": Case("relatives --text text.txt --out locked", "another training is writing to it"),
    "no seeds": Case("relatives --text text.txt --seeds 0", "--seeds 0"),
    "no steps": Case("relatives --text text.txt --steps 0", "--steps 0"),
    "second file missing": Case("relatives --text text.txt nowhere.txt", "nowhere.txt"),
    "examples of no task": Case("relatives --text text.txt --data poem=rows.csv", "TASK=FILE"),
    "examples of vectors": Case("relatives --text text.txt --data match=rows.csv", "TASK one of sentence, pair, token"),
    "examples missing": Case("relatives --text text.txt --data sentence=rows.csv token=nowhere.conll", "nowhere.conll"),
    "examples without text": Case("relatives --data sentence=rows.csv", "needs --text"),
    "text of its own": Case("pretraining-data --text text.txt", "leave it out"),
}
COMMANDS = {
    "pretrain": PRETRAIN,
    "finetune": FINETUNE,
    "evaluate": EVALUATE,
    "predict": PREDICT,
    "embed": EMBED,
    "search": SEARCH,
    "export": EXPORT,
    "data corpus": CORPUS,
    "data tokenize": TOKENIZE,
    "data": DATA,
    "compare": COMPARE,
}


def add_models(place, recipe, tok):
    config = recipe.config(tok.vocab_size)
    BertModel(config, add_pooler=False).save_pretrained(place / "encoder", tok)
    single = config.changed(type_vocab_size=1)
    BertModel(single, add_pooler=False).save_pretrained(place / "one-segment", tok)
    for name in ("cut", "reshaped", "wordless"):
        shutil.copytree(place / "encoder", place / name)
    weights = place / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    changed = json.loads((place / "encoder" / "config.json").read_text()) | {"intermediate_size": 8}
    (place / "reshaped" / "config.json").write_text(json.dumps(changed))
    for name in ("vocab.txt", "tokenizer.json"):
        (place / "wordless" / name).unlink(missing_ok=True)
    shutil.copytree(data_folder() / "models" / "storyworld-tiny", place / "edited-model", ignore=lambda *_: ["step-*"])
    (place / "edited-model" / "recipe.json").write_text(json.dumps({"max_tokens": "many"}))


def add_runs(place):
    """A finished run, unfinished ones with states, and one whose recipe was edited."""
    record = json.loads(json.dumps(asdict(PRETRAIN_RECIPES["own-text"])))
    for name, recipe in {"run": record, "unfinished": record, "broken": record}.items():
        (place / name).mkdir()
        (place / name / "recipe.json").write_text(json.dumps(recipe))
    (place / "edited").mkdir()
    (place / "edited" / "recipe.json").write_text(json.dumps(record | {"masking": None}))
    for name in ("metrics.csv", "model.safetensors"):
        (place / "run" / name).write_text("step\n")
    for name in ("folds", "grid"):
        (place / "run" / name).mkdir()
    for name in ("unfinished", "broken", "edited"):
        Checkpoints(place / name / "resume").save({"step": 3})
    for state in (place / "broken" / "resume").glob("state-*.pt"):
        state.write_bytes(b"half")


@pytest.fixture(scope="module")
def place(tmp_path_factory, recipe, tok):
    """A folder with long files, and with models and run folders that cannot be used in one way each."""
    place = tmp_path_factory.mktemp("long")
    repeated = {
        "text.txt": "The dog saw a kite. It was red, and Rosa had made it.\n\n",
        "more.txt": "Snow fell on the mill. Nobody was at home that day.\n\n",
        "words.conll": "Rosa B-PER\nwaits O\n\n",
        "objects.jsonl": '{"text": "Snow fell on the mill."}\n',
    }
    tables = {
        "rows.csv": ("text,label\n", "A warm and funny film.,good\nA dull film.,bad\n"),
        "unlabelled.csv": ("text,note\n", "A warm and funny film.,seen\n"),
        "rows.jsonl": ("text\n", '{"text": "A dull film.", "label": "bad"}\n'),
    }
    for name, (first, line) in ({name: ("", line) for name, line in repeated.items()} | tables).items():
        (place / name).write_text(first + line * (LONG // len(line)))
    (place / "noise.txt").write_bytes(b"\x81\xfe\x00\xff\n" * (LONG // 5))
    (place / "letters.txt").write_text("".join(f"{token}\n" for token in [*SPECIAL_TOKENS, "a"]))
    for folder in ("empty", "folder.npy", "locked"):
        (place / folder).mkdir()
    (place / "locked" / "notes.txt").write_text("mine")
    os.mkfifo(place / "pipe.txt")
    write_store(place / "store", [["The dog waits.", "It rains."]] * 8, tok, progress=False)
    add_models(place, recipe, tok)
    add_runs(place)
    return place


@pytest.fixture
def lacking(monkeypatch):
    """Makes a package look as if it were not installed."""
    found = errors.find_spec

    def lack(name):
        monkeypatch.setattr(errors, "find_spec", lambda module: None if module == name else found(module))

    return lack


def work_of(arguments):
    """(exit code, bytes read, seconds of processor time) of a command."""
    read, started = bytes_read(), time.process_time()
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return left.value.code, bytes_read() - read, time.process_time() - started


def bytes_read():
    """What this process has asked the system to read so far, in whatever way; 0 where the system does not count."""
    return int(COUNTER.read_text().split()[1]) if COUNTER.exists() else 0


@pytest.mark.parametrize(("command", "name"), [(command, name) for command in COMMANDS for name in COMMANDS[command]])
def test_it_is_refused_in_one_line_and_nothing_long_is_read(command, name, place, lacking, capsys, monkeypatch):
    case = COMMANDS[command][name]
    if "cuda" in case.command and torch.cuda.is_available():
        pytest.skip("the case asks for a GPU that is not there")
    monkeypatch.chdir(place)
    if case.lacking:
        lacking(case.lacking)
    before = sorted(place.rglob("*"))
    with locked(place / "locked"):
        code, read, seconds = work_of([*command.split(), *case.command.split(" ")])
        if read > MOST or seconds > SECONDS:  # the first case of a command imports what the command needs
            capsys.readouterr()
            code, read, seconds = work_of([*command.split(), *case.command.split(" ")])
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(NOTICES)]
    assert code == 2
    assert read <= MOST, f"{read:,} bytes were read before: {said}"
    assert seconds <= SECONDS, f"{seconds:.1f} seconds before: {said}"
    if case.words:
        assert len(said) == 1 and said[0].startswith("bertlab: ") and case.words in said[0], said
    assert sorted(place.rglob("*")) == before, "something was written"


def test_the_counter_sees_a_file_that_is_read_whole(place):
    if not COUNTER.exists():
        pytest.skip("this system does not count the bytes that a process reads")
    before = bytes_read()
    (place / "text.txt").read_text()
    assert bytes_read() - before > MOST
