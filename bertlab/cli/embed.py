"""`bertlab embed`: one vector for each text of a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import at_least_one
from bertlab.inputs.features import cut_words
from bertlab.model.base import best_device, refuse_first_token
from bertlab.model.sentences import OwnPooling


@dataclass(frozen=True)
class Embed:
    """Turn each text of a file into a vector."""

    file: Positional[Path]
    """A text a line (.txt), or a table (.csv, .tsv, .jsonl)."""
    out: Path
    """.npy: an array (texts, hidden size); .parquet: the columns text and vector. In the order of the file."""
    model: str = "english"
    """A bundled name, a folder or a hub id; best one fine-tuned for it (finetune match, sentence-transformers)."""
    pooling: Literal["mean", "cls", "max"] | None = None
    """Of the last states of a text's tokens: their mean, that of [CLS], or the maximum in each dimension. Default: what
    the model's files name (a sentence encoder's own), else the mean."""
    normalise: bool = False
    """Scale each vector to length 1, so that a dot product is a cosine. A sentence encoder may do so by itself."""
    text_column: str | None = None
    """Name, or number from 0, of the column that holds the text; usual names are found by themselves."""
    max_length: int | None = None
    """Tokens of a text that are read. Default: as many as a sentence encoder's files say, 128 of another model."""
    encoding: str = "utf-8"
    """Encoding of the file."""

    def run(self) -> None:
        from bertlab.deploy.embed import embed_file
        from bertlab.search.vectors import TextEncoder

        at_least_one(max_length=self.max_length)
        encoder = TextEncoder.open(self.model, best_device(), other=OwnPooling("mean", unit=False, max_length=128))
        encoder.pooling = self.pooling or encoder.pooling
        if self.pooling == "cls":
            refuse_first_token(
                encoder.model.config, self.model, "Choose --pooling mean, or a model that reads both sides"
            )
        encoder.normalise = self.normalise or encoder.normalise
        positions = encoder.model.config.max_position_embeddings
        encoder.max_length = min(self.max_length or encoder.max_length, positions)
        count = embed_file(self.file, self.out, encoder, self.text_column, self.encoding)
        if encoder.cut:
            say(cut_words(encoder.cut, count, encoder.max_length))
        say(f"wrote {count:,} vectors of {encoder.model.config.hidden_size} numbers to {self.out}")
