"""The film of a training whose snapshots are not kept: what they did with a few sentences, in one file."""

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch

from bertlab.errors import InputError
from bertlab.explain.attention.maps import AttentionMaps
from bertlab.explain.snapshots import HeadFrame
from bertlab.explain.text import encode
from bertlab.io.locate import locate
from bertlab.tokenizer import Tokenizer

FILE = "film.npz"


@dataclass(frozen=True)
class KeptFilm:
    """What T snapshots did with N sentences that have a gap.

    `guesses` and `probabilities` are (T, N, 5), the likeliest first; `attentions` holds for each sentence
    (T, L, A, S, S) as bytes, where 255 is 1.
    """

    steps: list[int]
    sentences: list[str]
    guesses: np.ndarray
    probabilities: np.ndarray
    attentions: list[np.ndarray]

    def words(self, number: int) -> list[tuple[int, str, float]]:
        """Return (step, token, probability) of the first guesses of all steps for a sentence, wherever they are among
        the five likeliest."""
        guesses, shares = self.guesses[:, number], self.probabilities[:, number]
        followed = set(guesses[:, 0])
        return [
            (step, str(token), float(share))
            for step, tokens, row in zip(self.steps, guesses, shares, strict=True)
            for token, share in zip(tokens, row, strict=True)
            if token in followed
        ]

    def heads(self, number: int, tokenizer: Tokenizer) -> list[HeadFrame]:
        """Return where all heads attend in a sentence, one frame a step."""
        tokens = encode(tokenizer, self.sentences[number]).tokens
        weights = torch.from_numpy(self.attentions[number]).float() / 255  # (T, L, A, S, S)
        maps = [AttentionMaps(tokens, [0] * len(tokens), each) for each in weights]
        return [HeadFrame(step, each) for step, each in zip(self.steps, maps, strict=True)]


def has_film(name: str | Path) -> bool:
    return (locate(name) / FILE).is_file()


def read_film(name: str | Path) -> KeptFilm:
    """Return the film in the folder of a model. InputError if the file cannot be read."""
    path = locate(name) / FILE
    try:
        with np.load(path, allow_pickle=False) as file:
            sentences = file["sentences"].tolist()
            attentions = [file[f"attentions_{number}"] for number in range(len(sentences))]
            return KeptFilm(file["steps"].tolist(), sentences, file["guesses"], file["probabilities"], attentions)
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise InputError(f"{path} is no film of a training: {error}") from error
