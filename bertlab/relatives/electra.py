"""ELECTRA: BERT's encoder learns to tell which tokens a small generator has replaced (Clark et al. 2020).

The generator is a masked language model. What it guesses stands in place of [MASK], and the encoder judges every token:
the original, or a replacement? So it learns from all tokens instead of 15%, and [MASK] never reaches it.

Shapes: B texts, S tokens, H hidden size, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.model import BertForMaskedLM, BertModel
from bertlab.model.base import PretrainedModel

WEIGHT = 50.0  # of the encoder's loss beside the generator's (section 3.1)
GENERATOR = 4  # times as narrow a feed-forward, and as few layers, at least one (section 3.2 asks for 1/4 to 1/2)


class ReplacedTokenDetection(PretrainedModel):
    """The encoder with a logit for every token: above 0, it was replaced."""

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config, add_pooler=False)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.detector = nn.Linear(config.hidden_size, 1)
        self.initialise()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, S)."""
        states = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        return self.detector(F.gelu(self.dense(states))).squeeze(-1)  # (B, S, H) -> (B, S, H) -> (B, S)


@dataclass
class ElectraOutput:
    """What an Electra computes."""

    loss: Tensor  # generator_loss + WEIGHT * detector_loss
    generator_loss: Tensor  # mean over the masked tokens
    detector_loss: Tensor  # mean over all tokens but [CLS], [SEP] and padding
    replaced: Tensor  # bool (B, S): where the encoder saw another token than the original
    logits: Tensor  # (B, S): above 0, the encoder says replaced


class Electra(nn.Module):
    """Generator and encoder, trained together; for tasks the generator is left out (`encoder` is a BertModel).

    Both have the same word, position and segment embeddings (section 3.2). The generator has a quarter of the layers
    and of the feed-forward's width.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        layers, width = max(1, config.num_hidden_layers // GENERATOR), max(1, config.intermediate_size // GENERATOR)
        self.generator = BertForMaskedLM(config.changed(num_hidden_layers=layers, intermediate_size=width))
        self.detector = ReplacedTokenDetection(config)
        ours, theirs = self.detector.bert.embeddings, self.generator.bert.embeddings
        theirs.word, theirs.position, theirs.segment = ours.word, ours.position, ours.segment
        self.generator.mlm.decoder.weight = ours.word.weight

    @property
    def encoder(self) -> BertModel:
        return self.detector.bert

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, labels: Tensor, judged: Tensor
    ) -> ElectraOutput:
        """input_ids with [MASK], labels their originals, -100 elsewhere; judged, bool: tokens to judge. All (B, S)."""
        options = {"labels": labels, "masked_only": True, "packed": False}
        guess = self.generator(input_ids, attention_mask, token_type_ids, **options)
        hidden = labels != IGNORED  # (B, S)
        shown, original = input_ids.clone(), torch.where(hidden, labels, input_ids)
        with torch.no_grad():  # no gradient goes through what was drawn (section 3.1)
            shown[hidden] = guess.logits.float().softmax(-1).multinomial(1).squeeze(1)  # (M, V) -> (M,)
        replaced = shown != original  # a right guess counts as the original
        logits = self.detector(shown, attention_mask, token_type_ids)
        loss = F.binary_cross_entropy_with_logits(logits[judged], replaced[judged].float())
        return ElectraOutput(guess.loss + WEIGHT * loss, guess.loss, loss, replaced, logits)
