"""The reader's own BERT, trained from random weights by the code of my_bert.py in a process that outlives the notebook.

    training_panel()     # in chapter 08: starts it, shows how far it is, stops it
    python -m bertlab.course.own_bert     # the training itself; goes on from where it was stopped or killed

The folder my_bert_training, beside my_bert.py, has its measures and what it goes on from. In the end the model is saved
as chapter 08 saves one, and the chapters after it use it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.corpora import storyworld
from bertlab.course import keep
from bertlab.course.mistake import Mistake
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_write
from bertlab.io.locate import locate
from bertlab.training.engine.throughput import Row
from bertlab.training.initial_weights import start_from_sinusoids
from bertlab.training.run_files import read_rows
from bertlab.training.run_folder import locked

MODEL = "storyworld-tiny"  # whose shape and vocabulary it has
SAVED = "reader_bert"  # in data: what the solutions reach in all steps (data/make/reader_bert.py)
STEPS, RATE, WARMUP = 2000, 2e-3, 0.05
STORIES, PAIRS, TOKENS, HIDDEN = 6000, 32, 64, 0.3  # to learn from; a step's pairs, their length, the words hidden
EVERY, SNAPSHOTS = 50, (100, 300, 600, 1000, 2000)  # steps from one measure and state to the next; with weights to keep
PARTS = "Config Tokenizer BertForPreTraining AdamW rate_share train_step batches save".split()
Batch = dict[str, Tensor]


def folder() -> Path:
    """Return where the training keeps its measures and its state."""
    return keep.file().with_name("my_bert_training")


# The training


def train(end: int | None = None) -> None:
    """Train up to step `end` (None: the last one, which saves the model), or until `stop` is called.

    Raises Mistake for a part of my_bert.py that fails its check, InputError while another process trains.
    """
    where = folder()
    with only_one(where):
        my, _ = keep.load(*PARTS)
        tokenizer = my.Tokenizer.from_file(locate(MODEL) / "vocab.txt")
        model, optimizer, rows = begun(my, where)
        done = int(rows[-1]["step"]) if rows else 0
        began = time.perf_counter() - (rows[-1]["seconds"] if rows else 0.0)
        made, asked = material(my, tokenizer)
        for step, batch in zip(range(done, end or STEPS), islice(made, done, None), strict=False):
            my.train_step(model, optimizer, batch, RATE * my.rate_share((step + 0.5) / STEPS, WARMUP))
            if step + 1 in SNAPSHOTS:
                my.save(model, tokenizer, keep.model_folder() / f"step-{step + 1:05d}")
            if (step + 1) % EVERY == 0:
                rows.append({"step": step + 1} | measure(model, asked) | {"seconds": time.perf_counter() - began})
                save_state(where, model, optimizer, rows)
                if (where / "stop").exists():
                    return
        if end is None:
            my.save(model.eval(), tokenizer, keep.model_folder())


def material(my: ModuleType, tokenizer: Any) -> tuple[Iterator[Batch], list[Batch]]:
    """Return the batches to learn from, without end, and those to measure on: new names and things in new stories."""
    known, new = stories(tokenizer, 0, STORIES, "train"), stories(tokenizer, 1, 100, "test")
    made = my.batches(known, tokenizer, size=PAIRS, max_tokens=TOKENS, rate=HIDDEN)
    return made, list(islice(my.batches(new, tokenizer, size=PAIRS, max_tokens=TOKENS, seed=1), 5))


def only_one(where: Path) -> AbstractContextManager[None]:
    """Return the lock that a training holds. InputError where another one does."""
    return locked(where, "your BERT is in training already")


def stories(tokenizer: Any, seed: int, count: int, split: str) -> list[list[list[int]]]:
    """Stories as lists of sentences, these as lists of ids."""
    found = storyworld.documents(seed=seed, count=count, split=split)
    return [[tokenizer.ids(sentence) for sentence in story.sentences] for story in found]


def begun(my: ModuleType, where: Path) -> tuple[nn.Module, Any, list[Row]]:
    """Return model, optimizer and measures as they were saved, or as a training begins: random weights of the size that
    section 6 calls 0.05, and positions that begin as sine waves."""
    shape = BertConfig.from_pretrained(MODEL)
    torch.manual_seed(0)
    fields = my.Config.__dataclass_fields__
    model = my.BertForPreTraining(my.Config(**{name: getattr(shape, name) for name in fields}))
    start_from_sinusoids(model.bert.embeddings.position.weight)
    optimizer = my.AdamW(model.train())
    path = where / "state.pt"
    if not path.exists():
        return model, optimizer, []
    try:
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.state, optimizer.steps = state["means"], int(state["rows"][-1]["step"])
    except (OSError, EOFError, RuntimeError, KeyError, ValueError, UnpicklingError) as error:
        raise InputError(f"{path} does not fit my_bert.py as it is now: remove {where} to begin anew") from error
    return model, optimizer, state["rows"]


def save_state(where: Path, model: nn.Module, optimizer: Any, rows: list[Row]) -> None:
    """Save all that the training goes on from, and its measures as a table."""
    new = where / "state.new"
    torch.save({"model": model.state_dict(), "means": optimizer.state, "rows": rows}, new)
    new.replace(where / "state.pt")
    lines = [",".join(rows[0]), *(",".join(f"{value:.6g}" for value in row.values()) for row in rows)]
    atomic_write(where / "rows.csv", "\n".join(lines) + "\n")


@torch.no_grad()
def measure(model: nn.Module, asked: Sequence[Batch]) -> Row:
    """Return the loss of the hidden words, and the shares of words and of pairs that the model gets right."""
    model.eval()
    losses, words, pairs = [], [], []
    for batch in asked:
        hidden = batch["labels"] != IGNORED  # (B, S)
        word_logits, pair_logits = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        logits, right = word_logits[hidden], batch["labels"][hidden]  # (M, V), (M,)
        losses.append(nn.functional.cross_entropy(logits, right, reduction="none"))
        words.append(logits.argmax(-1) == right)
        pairs.append(pair_logits.argmax(-1) == batch["next_sentence_label"])
    model.train()
    loss, top1, nsp = (float(torch.cat(part).float().mean()) for part in (losses, words, pairs))
    return {"mlm_loss": loss, "masked_accuracy": top1, "nsp_accuracy": nsp}


# From the notebook


def start() -> None:
    """Start the training in a process of its own, or let it go on; nothing happens where it runs already."""
    where = folder()
    (where / "stop").unlink(missing_ok=True)
    if is_running():
        return
    where.mkdir(parents=True, exist_ok=True)
    home = os.environ | {keep.FOLDER: str(where.parent.absolute())}
    command = [sys.executable, "-m", "bertlab.course.own_bert"]
    with (where / "log.txt").open("w") as log:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=home, start_new_session=True)


def stop() -> None:
    """Ask the training to stop at its next measure; `start` lets it go on."""
    (folder() / "stop").touch()


def is_running() -> bool:
    """Return whether a process trains."""
    if not folder().exists():
        return False
    try:
        with only_one(folder()):
            return False
    except InputError:
        return True


def rows() -> list[Row]:
    """Return the measures so far."""
    return read_rows(folder() / "rows.csv")


def finished() -> tuple[Path, list[Row]]:
    """Return the folder of the reader's BERT and its measures once it has taken all steps, until then those of the run
    with the solutions, and print which."""
    if is_done():
        print(f"Your own BERT, from {keep.model_folder().name}.")
        return keep.model_folder(), rows()
    print("A BERT that the solutions trained like this, until your own has taken all its steps.")
    saved = locate(MODEL).parents[1] / SAVED
    return saved, read_rows(saved / "rows.csv")


def is_done() -> bool:
    """Return whether the training has taken all its steps."""
    return bool(rows()) and rows()[-1]["step"] >= STEPS


def message() -> str:
    """Return in a line how the training stands."""
    done = int(rows()[-1]["step"]) if rows() else 0
    if is_done():
        minutes = rows()[-1]["seconds"] / 60
        return f"Done: {STEPS:,} steps in {minutes:.0f} minutes. Your BERT is in {keep.model_folder().name}."
    if is_running():
        return f"In training: step {done:,} of {STEPS:,}. You can go on reading, or close the notebook."
    log = folder() / "log.txt"
    said = log.read_text(encoding="utf-8", errors="replace").strip() if log.exists() else ""
    where = f"Stopped after {done:,} of {STEPS:,} steps." if done else "Not begun."
    return f"{where} {said.splitlines()[-1]}" if said else where


def main() -> int:
    torch.set_num_threads(min(2, torch.get_num_threads()))
    try:
        train()
    except (InputError, Mistake) as error:
        print(f"bertlab: {error}")
        return 2
    return 0


if __name__ == "__main__":
    with suppress(OSError, AttributeError):
        os.nice(10)  # whoever reads on comes first
    sys.exit(main())
