"""Weights that are damaged, too many, too large, not finite, or a program."""

import collections
import os
from pathlib import Path

import pytest
import torch
from damage import (
    INFO,
    NESTED,
    PICKLE,
    PREDICT,
    QUERY,
    SAFE,
    both,
    cut,
    fields,
    first_is,
    gone,
    header,
    in_its_place,
    link,
    one,
    pickled,
    sharded,
    tensors,
    write,
)

from bertlab import BertForPreTraining, BertForSequenceClassification

pytestmark = pytest.mark.timeout(30)
WORD = "bert.embeddings.word_embeddings.weight"
NORM = "bert.encoder.layer.1.output.LayerNorm.weight"
INDEX = f"{SAFE}.index.json"
SHARD = "model-00001-of-00001.safetensors"
NAN, INFINITE = float("nan"), float("inf")
ENTRY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}


def many(table: dict, count: int) -> None:
    table.update({f"t{number}": ENTRY for number in range(count)})


def same_storage(held: dict) -> dict:
    """Every tensor a view of one storage that is as large as the largest."""
    numbers = torch.zeros(max(tensor.numel() for tensor in held.values()))
    return {name: numbers[: tensor.numel()].view(tensor.shape) for name, tensor in held.items()}


# name -> kind, damage, words; refused by info and predict alike
FILES = {
    "none": ("token", gone(SAFE), "no checkpoint ... model.safetensors is missing"),
    "empty": ("token", write(SAFE, b""), "damaged or cut short (0 bytes)"),
    "seven bytes": ("token", cut(SAFE, 7), "damaged or cut short (7 bytes)"),
    "a header alone": ("qa", cut(SAFE, 3000), f"{SAFE}: damaged or cut short"),
    "cut by a byte": ("qa", lambda folder: os.truncate(folder / SAFE, (folder / SAFE).stat().st_size - 1), "damaged"),
    "a header of 2^63 bytes": ("qa", write(SAFE, b"\xff" * 7 + b"\x7f" + b"{}"), "damaged or cut short"),
    "a header of 9 MB": (
        "qa",
        write(SAFE, (9_000_000).to_bytes(8, "little") + b" " * 9_000_000),
        "a header of 9,000,000 bytes",
    ),
    "a header of 60 MB": (
        "qa",
        header(lambda table: table.update(__metadata__={"x": "x" * 60_000_000})),
        "a BERT's has at most",
    ),
    "a nested header": ("qa", write(SAFE, (200_000).to_bytes(8, "little") + NESTED.encode()), "damaged or cut"),
    "a page of the web": ("qa", write(SAFE, b"<!DOCTYPE html><html>" * 50), "damaged or cut short"),
    "a folder": ("qa", in_its_place(SAFE, Path.mkdir), f"{SAFE}: not a regular file"),
    "a link to itself": ("qa", link(SAFE, SAFE), "Too many levels of symbolic links"),
    "a link to nothing": ("qa", link(SAFE, "nothing"), "No such file"),
    "a pickle that is a pipe": ("qa", both(gone(SAFE), in_its_place(PICKLE, os.mkfifo)), f"{PICKLE}: not a regular"),
    "500,000 tensors": ("pretraining", header(lambda table: many(table, 500_000)), "a BERT's has at most"),
    "50,000 tensors": ("pretraining", header(lambda table: many(table, 50_000)), "tensors; a BERT has at most 20,000"),
    "offsets outside": (
        "qa",
        header(lambda table: table[QUERY].update(data_offsets=[0, 10**12])),
        "damaged or cut short",
    ),
    "a shape of 2^80": ("qa", header(lambda table: table[QUERY].update(shape=[2**40, 2**40])), "damaged or cut"),
    "an unknown type": ("qa", header(lambda table: table[QUERY].update(dtype="F99")), "damaged or cut short"),
    "whole numbers": ("qa", tensors(one(QUERY, lambda tensor: tensor.to(torch.int8))), "quantised"),
    "another shape": ("qa", tensors(one(QUERY, lambda tensor: tensor.flatten())), "is (576,), config.json asks"),
    "no dimension": ("qa", tensors(one(NORM, lambda tensor: tensor[0].clone())), "is (), config.json asks"),
    "no embeddings": ("qa", tensors(lambda held: held.pop(WORD)), "embeddings.word_embeddings.weight is missing"),
    "a layer's norm missing": ("token", tensors(lambda held: held.pop(NORM)), "output.LayerNorm.weight is missing"),
    "a name with and without bert.": (
        "sentence",
        tensors(lambda held: held.update({QUERY.removeprefix("bert."): held[QUERY] + 1})),
        "are one parameter with two values",
    ),
    "gamma and weight": (
        "sentence",
        tensors(lambda held: held.update({NORM.replace("weight", "gamma"): held[NORM] + 1})),
        "are one parameter with two values",
    ),
    "a name with escape codes": (
        "sentence",
        tensors(lambda held: held.update({"\x1b[2J\n": held[NORM] + 2, "bert.\x1b[2J\n": held[NORM] + 1})),
        "\\x1b[2J\\n",
    ),
}

SHARDS = {
    "a nested index": (write(INDEX, NESTED), f"{INDEX}: JSON nested"),
    "an index of 33 MB": (write(INDEX, b" " * 33_000_000), f"{INDEX}: 33,000,000 bytes"),
    "an index of 50,000 names": (
        fields(INDEX, weight_map={f"t{number}": SHARD for number in range(50_000)}),
        "50,000 tensors",
    ),
    "5,000 shards": (fields(INDEX, weight_map={f"t{n}": f"{n}.safetensors" for n in range(5_000)}), "5,000 files"),
    "a path upwards": (fields(INDEX, weight_map={"x": "../model.safetensors"}), "is no file of this folder"),
    "a shard that is a list": (fields(INDEX, weight_map={"x": []}), "no index of weights"),
    "no map": (fields(INDEX, weight_map=[]), "no index of weights"),
    "a missing shard": (gone(SHARD), f"{SHARD}: missing"),
    "an empty shard": (write(SHARD, b""), f"{SHARD}: damaged or cut short"),
    "a folder for a shard": (in_its_place(SHARD, Path.mkdir), f"{SHARD}: not a regular file"),
    "a shard linked to itself": (link(SHARD, SHARD), f"{SHARD}: Too many levels"),
    "the index linked to itself": (link(INDEX, INDEX), f"{INDEX}: Too many levels"),
}

PICKLES = {
    "a meta tensor": (one(QUERY, lambda tensor: tensor.to("meta")), "is not stored in full"),
    "a sparse tensor": (one(QUERY, lambda tensor: tensor.to_sparse()), "is not stored in full"),
    "a sparse tensor by rows": (one(QUERY, lambda tensor: tensor.to_sparse_csr()), "is not stored in full"),
    "whole numbers for names": (lambda held: dict(enumerate(held.values())), "a tensor has the name 0"),
    "10^10 equal rows": (one(WORD, lambda tensor: tensor[:1].expand(10**10, 24)), "is not stored in full"),
    "one number spread out": (one(QUERY, lambda tensor: torch.zeros(1).expand(24, 24)), "is not stored in full"),
    "one storage for all": (same_storage, "tensors share their numbers"),
    "a quantised tensor": (
        one(QUERY, lambda tensor: torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8)),
        "a quantised model?",
    ),
    "a counter": (lambda held: held.update(x=collections.Counter("ab")), "no plain table of tensors"),
    "a bytearray": (lambda held: held.update(x=bytearray(3)), "asks for memory (bytearray)"),
    "a list of tensors": (lambda held: list(held.values()), "no plain table of tensors"),
    "tables in tables": (lambda held: {"model": held}, "no plain table of tensors"),
    "a lone tensor": (lambda held: held[QUERY], "no plain table of tensors"),
    "25,000 tensors": (
        lambda held: held | dict.fromkeys(map(str, range(25_000)), held[NORM]),
        "tensors; a BERT has at most 20,000",
    ),
}

# name -> kind, damage; info reads no values and opens these
VALUES = {
    "nan in the words": ("pretraining", tensors(one(WORD, first_is(NAN)))),
    "nan in a question's head": ("qa", tensors(one("qa_outputs.weight", first_is(NAN)))),
    "nan in the encoder of entities": ("token", tensors(one(QUERY, first_is(NAN)))),
    "nan in the encoder of questions": ("qa", tensors(one(NORM, first_is(NAN)))),
    "nan in the labels": ("sentence", tensors(one("classifier.bias", first_is(NAN)))),
    "infinite in the labels": ("token", tensors(one("classifier.weight", first_is(INFINITE)))),
    "infinite and its negative": ("sentence", tensors(one(NORM, lambda t: first_is(INFINITE)(t) * -1))),
    "a bit flipped to 1e38": ("sentence", tensors(one(QUERY, first_is(1e38)))),
    "beyond float32": ("qa", tensors(one(QUERY, lambda tensor: first_is(1e300)(tensor.double())))),
    "nan in half precision": ("qa", tensors(one(QUERY, lambda tensor: first_is(NAN)(tensor.half())))),
    "nan in a pickle": ("token", pickled(one(QUERY, first_is(NAN)))),
    "all nan": ("token", tensors(lambda held: held.update({name: t * NAN for name, t in held.items()}))),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_weights(name, refused):
    refused(*FILES[name], (INFO, PREDICT))


@pytest.mark.parametrize("name", SHARDS)
def test_shards(name, refused):
    damage, words = SHARDS[name]
    refused("qa", sharded(damage), words, (INFO, PREDICT))


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("name", PICKLES)
def test_a_pickle(name, old, refused):
    change, words = PICKLES[name]
    refused("token", pickled(change, old), f"{PICKLE} ... {words}", (INFO, PREDICT))


@pytest.mark.parametrize("name", VALUES)
def test_values_that_are_no_numbers(name, refused):
    refused(*VALUES[name], "has values that are", (PREDICT,))


def test_a_compressed_pickle_is_refused(refused):
    """A few kilobytes of it could unfold into gigabytes."""
    import zipfile

    def packed(folder):
        with zipfile.ZipFile(folder / PICKLE, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("model/data.pkl", b"\0" * 50_000_000)

    refused("qa", both(gone(SAFE), packed), "is compressed", (INFO, PREDICT))


def test_a_decoder_bias_stored_twice_is_published_practice(folder_of):
    folder = folder_of("pretraining")
    copy = {"cls.predictions.decoder.bias": "cls.predictions.bias"}
    tensors(lambda held: held.update({new: held[old].clone() for new, old in copy.items()}))(folder)
    BertForPreTraining.from_pretrained(folder)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_finite_values_of_half_precision_are_fine(dtype, folder_of):
    folder = folder_of("sentence")
    tensors(one(QUERY, lambda tensor: first_is(60_000.0)(tensor.to(dtype))))(folder)
    model = BertForSequenceClassification.from_pretrained(folder)
    assert model.bert.encoder.layers[0].attention.qkv.weight.max() > 59_000
