"""One vector for a text, so that texts of like meaning have like vectors (Reimers and Gurevych 2019, Sentence-BERT).

Shapes: B texts, S tokens, H hidden size.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError
from bertlab.model.base import PretrainedModel
from bertlab.model.encoder import BertModel
from bertlab.model.heads import EncoderOptions, without_padding
from bertlab.model.mixing import mean_over_tokens

SCALE = 20.0  # of the cosines; Reimers and Gurevych's library has the same
FORMAT = "sentence_transformers.models"
MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}  # what it runs, each from its folder


@dataclass
class SentenceOutput:
    """What BertForSentenceEmbedding computes."""

    embeddings: Tensor  # (B, H), of length 1; (B, 2, H) for pairs
    loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H); (2B, S, H) for pairs
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S); (2B, A, S, S) for pairs


class BertForSentenceEmbedding(PretrainedModel):
    """One vector of length 1 for each text: the mean over its tokens, [CLS] and [SEP] included.

    Inputs as in BertModel, (B, S); or (B, 2, S), pairs of texts that mean the same, each encoded alone (a siamese
    network). labels (B,) with pairs ask for the loss: 1 where the pair is to be learned from, -100 where not, though
    its second text is still a negative of the others. Gives a SentenceOutput. A saved folder opens in
    sentence-transformers too, which then reads `max_length` tokens of a text, or as many as there are positions.
    """

    max_length: int | None = None

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config, add_pooler=False)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> SentenceOutput:
        pairs = input_ids.dim() == 3
        if (pairs and input_ids.size(1) != 2) or (labels is not None and not pairs):
            raise InputError(f"input_ids must be (batch, 2, tokens) to learn from, not {tuple(input_ids.shape)}")
        inputs = (input_ids, attention_mask, token_type_ids)
        if pairs:  # (B, 2, S) -flatten-> (2B, S)
            inputs = tuple(None if x is None else x.flatten(0, 1) for x in inputs)  # type: ignore[assignment]
        out = self.bert(*inputs, **without_padding(options, labels, attention_mask))
        vectors = F.normalize(mean_over_tokens(out.last_hidden_state, inputs[1]).float(), dim=-1)  # (B or 2B, H)
        if pairs:
            vectors = vectors.view(-1, 2, vectors.size(-1))  # (2B, H) -> (B, 2, H)
        loss = None if labels is None else in_batch_loss(vectors, labels, same_texts(input_ids[:, 1]))
        return SentenceOutput(vectors, loss, out.hidden_states, out.attentions)

    def write_more(self, folder: Path) -> None:
        """Write what sentence-transformers reads beside config and weights."""
        kinds = {f"pooling_mode_{kind}": kind == "mean_tokens" for kind in ("cls_token", "mean_tokens", "max_tokens")}
        files = {
            "modules.json": [
                {"idx": number, "name": str(number), "path": path, "type": f"{FORMAT}.{name}"}
                for number, (name, path) in enumerate(MODULES.items())
            ],
            "sentence_bert_config.json": {
                "max_seq_length": self.max_length or self.config.max_position_embeddings,
                "do_lower_case": False,  # the tokenizer does what there is to do
            },
            "1_Pooling/config.json": {"word_embedding_dimension": self.config.hidden_size, **kinds},
        }
        (folder / "1_Pooling").mkdir()
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content, indent=2) + "\n")


def in_batch_loss(vectors: Tensor, labels: Tensor | None = None, same: Tensor | None = None) -> Tensor:
    """Return the cross-entropy of finding each text's partner among all second texts of the batch (Henderson et al.
    2017), by SCALE times the cosine; in both directions would be another loss.

    vectors (B, 2, H) of length 1; labels (B,): -100 where nothing is to be found; same (B, B) bool: second texts that
    are equal, of which only the partner itself counts.
    """
    first, second = vectors.unbind(1)  # (B, 2, H) -> 2 x (B, H)
    logits = SCALE * first @ second.T  # (B, H) @ (H, B) -> (B, B)
    right = torch.arange(len(logits), device=logits.device)
    if same is not None:
        others = same & ~torch.eye(len(logits), dtype=torch.bool, device=logits.device)
        logits = logits.masked_fill(others, float("-inf"))
    if labels is not None:
        right = right.masked_fill(labels == IGNORED, IGNORED)
        if labels.device.type == "cpu" and bool((labels == IGNORED).all()):
            return logits.sum() * 0
    return F.cross_entropy(logits, right, ignore_index=IGNORED)


def same_texts(input_ids: Tensor) -> Tensor:
    """Return which of the rows (B, S) are equal: (B, B) bool."""
    return (input_ids[:, None] == input_ids[None]).all(-1)
