"""The command on hostile checkpoints: exit code 2 and one line, soon and in little memory; and what it prints."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from damage import (
    ARGUMENTS,
    INFO,
    NESTED,
    PREDICT,
    SAFE,
    both,
    config,
    engine,
    first_is,
    gone,
    header,
    in_its_place,
    link,
    one,
    pickled,
    tensors,
    vocabulary,
    write,
)
from test_hostile_tokenizers import SLOW, split_at
from test_hostile_weights import WORD, many

pytestmark = pytest.mark.timeout(120)
PIPE, ENDLESS = os.mkfifo, "/dev/zero"
BOTH = (INFO, PREDICT)
MOST_SECONDS, MOST_MEGABYTES = 5, 500

# name -> kind, damage, faces; all of them are opened by one process
ROWS = {
    "config a pipe": ("sentence", in_its_place("config.json", PIPE), BOTH),
    "config endless": ("token", link("config.json", ENDLESS), BOTH),
    "tokenizer a pipe": ("qa", in_its_place("tokenizer.json", PIPE), BOTH),
    "tokenizer endless": ("qa", link("tokenizer.json", ENDLESS), BOTH),
    "words a pipe": ("sentence", both(gone("tokenizer.json"), in_its_place("vocab.txt", PIPE)), BOTH),
    "options endless": (
        "sentence",
        both(gone("tokenizer.json"), link("tokenizer_config.json", ENDLESS)),
        BOTH,
    ),
    "weights a pipe": ("pretraining", in_its_place(SAFE, PIPE), BOTH),
    "weights endless": ("pretraining", link(SAFE, ENDLESS), BOTH),
    "pickle a pipe": ("token", both(gone(SAFE), in_its_place("pytorch_model.bin", PIPE)), BOTH),
    "index endless": ("token", both(gone(SAFE), link(f"{SAFE}.index.json", ENDLESS)), BOTH),
    "modules a pipe": ("pretraining", both(gone("config.json"), in_its_place("modules.json", PIPE)), BOTH),
    "recipe a pipe": ("qa", in_its_place("recipe.json", PIPE), (PREDICT,)),
    "a billion layers": ("token", config(num_hidden_layers=10**9), BOTH),
    "a billion labels": ("sentence", config(num_labels=10**9), BOTH),
    "hidden size 2^40": ("qa", config(hidden_size=2**40), BOTH),
    "nested config": ("qa", write("config.json", NESTED), BOTH),
    "500,000 tensors": ("pretraining", header(partial(many, count=500_000)), BOTH),
    "a slow expression": ("qa", engine(lambda values: values.update(pre_tokenizer=split_at(SLOW))), BOTH),
    "10^10 rows": ("token", pickled(one(WORD, lambda tensor: tensor[:1].expand(10**10, 24)), old=True), BOTH),
    "nan in entities": ("token", tensors(one(WORD, first_is(float("nan")))), (PREDICT,)),
    "nan in questions": ("qa", tensors(one(WORD, first_is(float("nan")))), (PREDICT,)),
}


def arguments(face: str, kind: str, folder: Path) -> list[str]:
    return [INFO, str(folder)] if face == INFO else [PREDICT, *ARGUMENTS[kind], "--model", str(folder)]


def ran(commands: list[list[str]]) -> list[dict]:
    """What each command printed, its exit code, and what it used."""
    asked = "".join(json.dumps(command) + "\n" for command in commands)
    script = [sys.executable, str(Path(__file__).with_name("run_commands.py"))]
    answers = subprocess.run(script, input=asked, capture_output=True, text=True, timeout=110)
    assert answers.returncode == 0, answers.stderr
    return [json.loads(line) for line in answers.stdout.splitlines()]


def with_control_characters(sound, place: Path) -> list[list[str]]:
    """Commands on models with such characters in label names and in tokens of the vocabulary."""
    folders = {kind: shutil.copytree(sound[kind], place / kind) for kind in ("sentence", "token", "pretraining")}
    config(id2label={"0": "a\x1b[31m", "1": "b\r\nc", "2": "\x9b2J\u202e"})(folders["sentence"])
    config(id2label={"0": "B-a\x1b[31m", "1": "B-b\n", "2": "B-c\x9b"})(folders["token"])
    vocabulary(lambda tokens: [*tokens[:5], *(f"{n}\x1b[31m\x9b" for n in range(len(tokens) - 5))])(
        folders["pretraining"]
    )
    commands = [arguments(face, kind, folder) for kind, folder in folders.items() for face in BOTH]
    return commands + [[*command, "--json"] for command in commands]


@pytest.fixture(scope="module")
def results(sound, tmp_path_factory):
    """What each row and face of ROWS gave, and under None what the commands with control characters gave."""
    asked = {}
    for name, (kind, damage, faces) in ROWS.items():
        folder = shutil.copytree(sound[kind], tmp_path_factory.mktemp("damaged") / kind)
        damage(folder)
        asked |= {(name, face): arguments(face, kind, folder) for face in faces}
    said = ran([*asked.values(), *with_control_characters(sound, tmp_path_factory.mktemp("control"))])
    return dict(zip(asked, said[: len(asked)], strict=True)) | {None: said[len(asked) :]}


@pytest.mark.parametrize(("name", "face"), [(name, face) for name, (*_, faces) in ROWS.items() for face in faces])
def test_one_line_and_exit_2(name, face, results):
    said = results[name, face]
    assert said["code"] == 2 and said["out"] == "", said
    assert said["err"].startswith("bertlab: ") and said["err"].count("\n") == 1, said
    assert said["seconds"] < MOST_SECONDS and said["megabytes"] < MOST_MEGABYTES


def test_control_characters_are_printed_escaped(results):
    assert len(results[None]) == 12
    for said in results[None]:
        assert said["code"] == 0, said
        assert "".join(said["out"].split("\n")).isprintable(), said["out"]
