"""The weights that the live page loads: in 8 bits where these fill gaps as well as 16 do, else in 16."""

import csv
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from bertlab import BertForMaskedLM, Tokenizer
from bertlab.explain.words.fill import Fill, fill_mask
from bertlab.io.locate import locate
from web.int8 import dequantized, quantized
from web.stage import ROOT

WEIGHTS, OTHERS = "model.safetensors", ("config.json", "vocab.txt", "tokenizer_config.json")
OPINIONS = 75  # in which a word is hidden
LOST = 0.01  # share of the gaps that 8 bits may lose


def chosen_weights(name: str) -> tuple[dict[str, Tensor], dict]:
    """Return the tensors that the page loads of a bundled model, and what the choice rests on."""
    tensors = {16: published(name), 8: quantized(published(name))}
    tokenizer, gaps = Tokenizer.from_pretrained(name), hidden_words()
    fills = {bits: first_guesses(opened(name, weights), tokenizer, gaps) for bits, weights in tensors.items()}
    right = {bits: sum(fill.tokens[0] in gaps[text] for text, fill in found.items()) for bits, found in fills.items()}
    pairs = list(zip(fills[8].values(), fills[16].values(), strict=True))
    bits = 8 if right[8] >= right[16] - LOST * len(gaps) else 16
    return tensors[bits], {
        "bits": bits,
        "gaps": len(gaps),
        "right": right,
        "same": sum(a.tokens == b.tokens for a, b in pairs),
        "difference": round(max(abs(a.probabilities[0] - b.probabilities[0]) for a, b in pairs), 4),
    }


def published(name: str) -> dict[str, Tensor]:
    """Return the tensors of a bundled model as they are stored."""
    return load_file(locate(name) / WEIGHTS)


def hidden_words() -> dict[str, list[str]]:
    """Return texts with one [MASK] and the words that are right there: gaps.csv, and a word of each of 75 opinions."""
    gaps = {row["text"]: row["accepted"].split("|") for row in english("gaps.csv")}
    for number, row in enumerate(english("opinions.csv")[:OPINIONS]):
        words = list(re.finditer(r"\b[A-Za-z]{2,}\b", row["text"]))
        hidden = words[number % len(words)]
        gaps[f"{row['text'][: hidden.start()]}[MASK]{row['text'][hidden.end() :]}"] = [hidden[0].lower()]
    return gaps


def english(file: str) -> list[dict[str, str]]:
    with (ROOT / "data" / "english" / file).open(encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def first_guesses(model: BertForMaskedLM, tokenizer: Tokenizer, texts: Mapping[str, list[str]]) -> dict[str, Fill]:
    return {text: fill_mask(model, tokenizer, text, k=1)[0] for text in texts}


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
