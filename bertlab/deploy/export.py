"""A checkpoint written for ONNX Runtime, with all that belongs to it, and compared with the model itself; or as one
plain model folder."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm.auto import tqdm

from bertlab.config import BertConfig, cross_encoder_fields
from bertlab.deploy.onnx import computed_by_onnx, named_outputs, quiet, write_onnx
from bertlab.errors import InputError, require
from bertlab.inputs.features import Batch
from bertlab.io.atomic import atomic_folder, atomic_write, check_out, keep_apart
from bertlab.io.files import expanded, present
from bertlab.io.hub import READING
from bertlab.io.json_files import read_json
from bertlab.io.locate import locate
from bertlab.model import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForTokenClassification,
    BertModel,
)
from bertlab.model.base import PretrainedModel
from bertlab.model.crf import CRF
from bertlab.model.summary import model_class
from bertlab.tokenizer import Row, Tokenizer
from bertlab.training.run_folder import ROWS

INPUTS = 200  # that both are compared on
MOST_ROWS = 4  # of a batch
TOLERANCE = 1e-3  # of the largest output, at least of 1; exports in float32 come to about 1e-6
VECTORS = ("last_hidden_state", "pooler_output", "embeddings")
ENDS = ("start_logits", "end_logits")
OF_TOKENS = ("last_hidden_state", "prediction_logits", *ENDS)


@dataclass
class Agreement:
    """How far the outputs of an exported model are from the model's, on `inputs` texts.

    `difference`: the largest one; `relative`: the same as a share of the largest output, at least of 1. `same` of
    `decisions` are equal: the likeliest class, token or position. `cosine`: the lowest between two vectors; 1 if the
    outputs are no vectors.
    """

    inputs: int = 0
    difference: float = 0.0
    relative: float = 0.0
    same: int = 0
    decisions: int = 0
    cosine: float = 1.0

    def add(self, name: str, expected: Tensor, found: Tensor, mask: Tensor, config: BertConfig) -> None:
        """Compare one output of a batch, its padding left out: `mask` (B, S) is True at tokens."""
        if name in ENDS:  # (B, S): where the answer begins or ends
            pair = [x.masked_fill(~mask, -torch.inf).argmax(-1) for x in (expected, found)]
            self._count(pair[0], pair[1])
        if name in OF_TOKENS or (name == "logits" and expected.dim() == 3):
            expected, found = expected[mask], found[mask]
        difference = float((expected - found).abs().nan_to_num(torch.inf).max())
        self.difference = max(self.difference, difference)
        self.relative = max(self.relative, difference / max(1.0, float(expected.abs().max())))
        if name in VECTORS:
            self.cosine = min(self.cosine, float(F.cosine_similarity(expected, found, dim=-1).nan_to_num(-1).min()))
        elif config.problem_type == "multi_label_classification":
            self._count(expected > 0, found > 0)
        elif name not in ENDS and expected.size(-1) > 1:
            self._count(expected.argmax(-1), found.argmax(-1))

    def _count(self, expected: Tensor, found: Tensor) -> None:
        self.same += int((expected == found).sum())
        self.decisions += expected.numel()

    def __str__(self) -> str:
        words = [f"{self.inputs} inputs, largest difference {self.difference:.1e}"]
        if self.decisions:
            words.append(f"{self.same / self.decisions:.1%} of {self.decisions:,} decisions equal")
        if self.cosine < 1:
            words.append(f"lowest cosine of two vectors {self.cosine:.4f}")
        return ", ".join(words)


@dataclass(frozen=True)
class Exported:
    """A model that was exported: its file, how it compares, and a copy of the model that has the runtime compute."""

    file: Path
    agreement: Agreement
    twin: PretrainedModel = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.file.stat().st_size


def export_model(name: str | Path, out: Path, int8: bool = False, *, progress: bool = False) -> Exported:
    """Write a checkpoint (a bundled name, a folder or a hub id) as ONNX, with its config and tokenizer.

    `out` is a folder, which gets model.onnx, or the file itself. All or nothing: InputError where a module is missing,
    where `out` belongs to another model, or where the outputs differ from the model's by more than rounding, which
    with `int8` they may.
    """
    folder, file = place_of(out)
    keep_apart(folder, [locate(name)])
    check_place(folder, name)
    model = trained_parts(name)
    tokenizer = Tokenizer.from_pretrained(name)
    inputs = next(random_batches(model, tokenizer, 2))
    with atomic_folder(folder) as work, quiet():
        write_onnx(model, inputs, work / file, int8)
        write_companions(model, tokenizer, work)
        twin = computed_by_onnx(work / file, model, inputs)
        agreement = compare(model, twin, progressing(random_batches(model, tokenizer), progress))
        if not int8 and agreement.relative > TOLERANCE:
            raise InputError(f"{name}: the exported model differs from the model ({agreement}); nothing was written")
    return Exported(folder / file, agreement, twin)


def export_folder(name: str | Path, out: Path) -> None:
    """Write a checkpoint (a bundled name, a folder or a hub id) as a plain model folder, an adapter merged with its
    base, with what says how its texts are read.

    InputError: `out` cannot be written or belongs to another model, or the model's head was never trained.
    """
    check_out(out, folder=True)
    folder, out = locate(name), expanded(out)
    keep_apart(out, [folder])
    check_place(out, name)
    if present(out / ROWS):
        raise InputError(f"{out} holds a run, whose model this would replace: give --out a folder of its own")
    model = trained(model_class(folder), name)
    model.save_pretrained(out, Tokenizer.from_pretrained(name))
    if kept := cross_encoder_fields(folder):  # without them sentence-transformers would apply a sigmoid
        config = read_json(out / "config.json") | kept
        atomic_write(out / "config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")
    for path in chain.from_iterable(map(folder.glob, READING)):
        atomic_write(out / path.relative_to(folder), path.read_bytes())


def trained_parts(name: str | Path) -> PretrainedModel:
    """Return the model of a checkpoint without the pooler or next-sentence head that it lacks, whose outputs would be
    random. InputError: it lacks the rest of its head."""
    model = trained(model_class(locate(name)), name)
    if isinstance(model, BertForPreTraining) and model.untrained:
        return trained(BertForMaskedLM, name)
    if isinstance(model, BertModel) and model.untrained:
        model.pooler = None
    return model


def trained(kind: type[PretrainedModel], name: str | Path) -> PretrainedModel:
    return kind.trained(name, optional=("pooler", "nsp"), advice="fine-tune it first")


def place_of(out: Path) -> tuple[Path, str]:
    """Return the folder and the name of the file that an export is written to. InputError: a module is missing, or the
    folder cannot be written."""
    for module in ("onnx", "onnxscript", "onnxruntime"):
        require(module, "export")
    folder, file = (out.parent, out.name) if out.suffix == ".onnx" else (out, "model.onnx")
    check_out(folder, folder=True)
    return folder, file


def progressing(batches: Iterable[Batch], shown: bool) -> Iterator[Batch]:
    """Yield the batches, with a bar that counts their inputs."""
    with tqdm(total=INPUTS, desc="compared", unit=" inputs", leave=False, disable=not shown) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch["input_ids"]))


def check_place(folder: Path, name: str | Path) -> None:
    """Raise InputError for a folder that holds the config of another model than the one of this name, or a vocabulary
    of something else."""
    config = folder / "config.json"
    others = [folder / name for name in ("vocab.txt", "tokenizer.json") if present(folder / name)]
    if others and not present(config):
        raise InputError(f"{others[0]} belongs to something else: give --out a folder of its own")
    if present(config) and BertConfig.from_file(config).to_dict() != BertConfig.from_pretrained(name).to_dict():
        raise InputError(f"{config} is that of another model: give --out a folder of its own")


def write_companions(model: PretrainedModel, tokenizer: Tokenizer, folder: Path) -> None:
    """Write config.json, the tokenizer's files and, for a CRF, crf.json: the scores that Viterbi decoding adds."""
    config = model.config.to_dict(type(model).__name__)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    tokenizer.save_pretrained(folder, model.config.max_position_embeddings)
    if isinstance(model, BertForTokenClassification) and isinstance(model.crf, CRF):
        (folder / "crf.json").write_text(json.dumps(model.crf.table(), indent=2) + "\n")


@torch.inference_mode()
def compare(model: PretrainedModel, twin: PretrainedModel, batches: Iterable[Batch]) -> Agreement:
    """Return how far the outputs of `twin` are from the model's."""
    agreement = Agreement()
    for batch in batches:
        mask, found = batch["attention_mask"].bool(), named_outputs(twin(**batch))
        agreement.inputs += len(mask)
        for name, expected in named_outputs(model(**batch)).items():
            agreement.add(name, expected, found[name], mask, model.config)
    return agreement


def random_batches(model: PretrainedModel, tokenizer: Tokenizer, count: int = INPUTS) -> Iterator[Batch]:
    """Yield inputs of random words, `count` in all, of one token to the model's length, some of them pairs; the same
    each time."""
    rng, longest = random.Random(0), model.config.max_position_embeddings
    lengths = [int(length) for length in np.geomspace(3, longest, count).round()]
    rng.shuffle(lengths)
    while lengths:
        rows = min(rng.randint(2, MOST_ROWS), len(lengths))
        yield random_batch(model, tokenizer, [lengths.pop() for _ in range(rows)], rng)


def random_batch(model: PretrainedModel, tokenizer: Tokenizer, lengths: list[int], rng: random.Random) -> Batch:
    """Return rows of these lengths as the model takes them; each choice is a row of the same length."""
    choices = 3 if isinstance(model, BertForMultipleChoice) else 1
    rows = [random_row(model.config, tokenizer, length, rng) for length in lengths for _ in range(choices)]
    batch = tokenizer.batch(rows)
    if isinstance(model, BertForTokenClassification) and model.convolution is not None:
        batch["word_mask"] = batch["attention_mask"].bool() & (batch["input_ids"] % 3 > 0)
    if choices > 1:
        batch = {name: tensor.unflatten(0, (-1, choices)) for name, tensor in batch.items()}  # (B*C, S) -> (B, C, S)
    inputs = ("input_ids", "attention_mask", "token_type_ids", "word_mask")
    return {name: batch[name] for name in inputs if name in batch}


def random_row(config: BertConfig, tokenizer: Tokenizer, length: int, rng: random.Random) -> Row:
    """Return `[CLS] text [SEP]`, or from 6 tokens on half the time `[CLS] text [SEP] pair [SEP]`, of random tokens."""
    ids = [rng.randrange(tokenizer.vocab_size) for _ in range(length)]
    ids[0], ids[-1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    types = [0] * length
    if length > 5 and config.type_vocab_size > 1 and rng.random() < 0.5:
        middle = length // 2
        ids[middle] = tokenizer.sep_token_id
        types[middle + 1 :] = [1] * (length - middle - 1)
    return Row(ids, types, [(0, 0)] * length)
