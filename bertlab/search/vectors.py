"""One vector for each text, by a model."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, collate
from bertlab.io.locate import locate
from bertlab.model.base import OTHER_MODEL, refuse_first_token
from bertlab.model.pooling import Pooling, pooled
from bertlab.model.sentences import BertForSentenceEmbedding, OwnPooling, lowered, own_pooling
from bertlab.search.cache import cached
from bertlab.tasks.base import CPU_TOKENS, batches
from bertlab.tokenizer import Tokenizer


class TextEncoder:
    """A model with its tokenizer: texts in, vectors out."""

    cut: int = 0  # texts so far of which not all tokens were read

    def __init__(
        self,
        model: BertForSentenceEmbedding,
        tokenizer: Tokenizer,
        max_length: int = 128,
        pooling: Pooling = "mean",
        normalise: bool = True,
        lower: bool = False,
        similarity: str = "cosine",
    ):
        """`max_length`: tokens of a text that are read. `pooling`: the mean over the last states of all tokens, [CLS]
        and [SEP] included, or their maximum in each dimension, or the state of [CLS]. `normalise`: to length 1.
        `lower`: lower-case texts first, also where the tokenizer keeps capitals. `similarity`: what orders texts as the
        model was trained to."""
        self.model, self.tokenizer = model.eval(), tokenizer
        self.pooling, self.normalise, self.lower, self.similarity = pooling, normalise, lower, similarity
        self.max_length = min(max_length, model.config.max_position_embeddings)

    @classmethod
    def open(
        cls, name: str | Path, device: str | torch.device = "cpu", other: OwnPooling | None = None
    ) -> "TextEncoder":
        """Open a checkpoint that was fine-tuned for the task match, or a sentence encoder in a folder of
        sentence-transformers, with its own pooling; another one with the pooling `other`. InputError without that."""
        own = own_pooling(locate(name)) or other
        if own is None:
            BertConfig.from_pretrained(name)  # another model than BERT is refused by its name
            raise InputError(f"{name} gives no vectors of texts: train it to with bertlab finetune match")
        model = BertForSentenceEmbedding.from_pretrained(name, device)
        if own.kind == "cls":
            refuse_first_token(model.config, name, OTHER_MODEL)
        length = own.max_length or model.config.max_position_embeddings
        return cls(model, Tokenizer.from_pretrained(name), length, own.kind, own.unit, own.lower, own.similarity)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], *, progress: bool = False) -> Tensor:
        """Return the vectors (N, H) of the texts; texts of like length share a batch. `cut` counts those that were cut,
        over all calls."""
        from tqdm.auto import tqdm

        texts = [lowered(text) for text in texts] if self.lower else texts
        encodings = self.tokenizer.encodings(texts, offsets=False)
        fitted = [self.tokenizer.fitted((encoding,), self.max_length) for encoding in encodings]
        features = [Feature((row,), {}, number, cut) for number, (row, cut) in enumerate(fitted)]
        self.cut += sum(cut > 0 for _, cut in fitted)
        vectors = torch.empty(len(texts), self.model.config.hidden_size)
        with tqdm(total=len(texts), desc="vectors", unit=" texts", disable=not progress, leave=False) as bar:
            for chosen in batches(features, CPU_TOKENS):
                vectors[[feature.example for feature in chosen]] = self._vectors(chosen).cpu()
                bar.update(len(chosen))
        return vectors

    def cosines(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Return the cosine of the question's vector with that of each text: (N,)."""
        question_vector, *vectors = F.normalize(self.encode([question, *texts]), dim=-1)
        return (torch.stack(vectors) @ question_vector).numpy()

    def _vectors(self, chosen: Sequence[Feature]) -> Tensor:
        device = next(self.model.parameters()).device
        batch = {name: tensor.to(device) for name, tensor in collate(chosen, self.tokenizer).items()}
        states = self.model.bert(**batch).last_hidden_state
        vectors = pooled(states, batch["attention_mask"], self.pooling).float()
        return F.normalize(vectors, dim=-1) if self.normalise else vectors


def kept_vectors(encoder: TextEncoder, name: str | Path, texts: Sequence[str], *, progress: bool = False) -> Tensor:
    """Return the vectors (N, H) of the texts by the encoder that was opened from `name`, kept from an earlier call if
    neither has changed since."""
    digest = hashlib.sha256(f"{encoder.max_length} {encoder.pooling} {encoder.lower} {encoder.normalise}".encode())
    for tensor in encoder.model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    how = encoder.tokenizer.backend.to_str(), repr(encoder.model.config)
    digest.update("\0".join([*how, *texts]).encode("utf-8", "surrogatepass"))

    def made() -> bytes:
        return encoder.encode(texts, progress=progress).half().numpy().tobytes()

    def read(content: bytes) -> Tensor:
        stored = np.frombuffer(content, dtype=np.float16).reshape(len(texts), -1)
        return torch.from_numpy(stored.astype(np.float32))

    where = hashlib.sha256(f"{locate(name).resolve()} {len(texts)}".encode()).hexdigest()[:12]
    return cached(f"vectors-{where}", digest.hexdigest(), made, read)
