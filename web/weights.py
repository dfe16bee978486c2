"""The weights that the live page loads: in 8 bits where these fill gaps as well as 16 do, else in 16."""

import csv
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertlab import BertForMaskedLM, Tokenizer
from bertlab.io.locate import locate
from web.int8 import dequantized, quantized
from web.stage import ROOT

WEIGHTS, OTHERS = "model.safetensors", ("config.json", "vocab.txt", "tokenizer_config.json")
OPINIONS, BATCH = 275, 25  # short opinions in which a word is hidden; texts at a time
LOST = 0.01  # share of the gaps that 8 bits may lose


def chosen_weights(name: str) -> tuple[dict[str, Tensor], dict]:
    """Return the tensors that the page loads of a bundled model, and what the choice rests on."""
    tensors = {16: published(name), 8: quantized(published(name))}
    tokenizer, gaps = Tokenizer.from_pretrained(name), hidden_words()
    found = {bits: first_guesses(opened(name, weights), tokenizer, list(gaps)) for bits, weights in tensors.items()}
    right = {
        bits: sum(word in accepted for (word, _), accepted in zip(guesses, gaps.values(), strict=True))
        for bits, guesses in found.items()
    }
    pairs = list(zip(found[8], found[16], strict=True))
    bits = 8 if right[8] >= right[16] - LOST * len(gaps) else 16
    return tensors[bits], {
        "bits": bits,
        "gaps": len(gaps),
        "right": right,
        "same": sum(a == b for (a, _), (b, _) in pairs),
        "difference": round(max(abs(p - q) for (_, p), (_, q) in pairs), 4),
    }


def published(name: str) -> dict[str, Tensor]:
    """Return the tensors of a bundled model as they are stored."""
    return load_file(locate(name) / WEIGHTS)


def hidden_words() -> dict[str, list[str]]:
    """Return texts with one [MASK] and the words that are right there: gaps.csv, and a word of each of 275 opinions."""
    gaps = {row["text"]: row["accepted"].split("|") for row in english("gaps.csv")}
    short = [row for row in english("opinions.csv") if row["length"] == "short"]
    for number, row in enumerate(short[:OPINIONS]):
        words = list(re.finditer(r"\b[A-Za-z]{2,}\b", row["text"]))
        hidden = words[number % len(words)]
        gaps[f"{row['text'][: hidden.start()]}[MASK]{row['text'][hidden.end() :]}"] = [hidden[0].lower()]
    return gaps


def english(file: str) -> list[dict[str, str]]:
    with (ROOT / "data" / "english" / file).open(encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


@torch.inference_mode()
def first_guesses(model: BertForMaskedLM, tokenizer: Tokenizer, texts: list[str]) -> list[tuple[str, float]]:
    """Return the likeliest token for the [MASK] of each text, and its probability."""
    found: list[tuple[str, float]] = []
    for start in range(0, len(texts), BATCH):
        batch = tokenizer(texts[start : start + BATCH])
        hidden = batch["input_ids"] == tokenizer.mask_token_id  # (B, S)
        labels = batch["input_ids"].masked_fill(~hidden, -100)
        best = model(**batch, labels=labels, masked_only=True).logits.softmax(-1).max(-1)  # (B, V) -> (B,)
        found += zip(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values.tolist(), strict=True)
    return found


def opened(name: str, tensors: Mapping[str, Tensor]) -> BertForMaskedLM:
    """Open a bundled model with other weights: those that the page computes with."""
    with tempfile.TemporaryDirectory() as temporary:
        copy_model(name, dequantized(tensors), Path(temporary))
        return BertForMaskedLM.from_pretrained(temporary).eval()


def copy_model(name: str, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Write what the page reads of a bundled model, with these weights, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in OTHERS:
        shutil.copy(locate(name) / file, folder)
    save_file(dict(tensors), folder / WEIGHTS, {"format": "pt"})
