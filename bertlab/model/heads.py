"""The heads of pretraining and of question answering: what turns the encoder's states into answers.

Shapes: B sequences, S tokens, H hidden size, V vocabulary, M masked positions.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.inputs.masking import IGNORED
from bertlab.model.checkpoint import PretrainedModel
from bertlab.model.checks import check_range
from bertlab.model.encoder import ACTIVATIONS, BertModel
from bertlab.model.lean_loss import lean_cross_entropy


@dataclass
class MaskedLMOutput:
    """What BertForMaskedLM computes."""

    logits: Tensor  # (B, S, V); (M, V) with masked_only
    loss: Tensor | None = None
    masked_labels: Tensor | None = None  # (M,), only with masked_only
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H)
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S)


@dataclass
class PreTrainingOutput:
    """What BertForPreTraining computes; loss = mlm_loss + nsp_loss, of those whose labels were given."""

    prediction_logits: Tensor | None  # (B, S, V); (M, V) with masked_only; None with loss_only
    seq_relationship_logits: Tensor  # (B, 2): IsNext, NotNext
    loss: Tensor | None = None
    mlm_loss: Tensor | None = None
    nsp_loss: Tensor | None = None
    masked_labels: Tensor | None = None  # (M,), only with masked_only
    masked_accuracy: Tensor | None = None  # 0-d, only with loss_only
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H)
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S)


@dataclass
class QuestionAnsweringOutput:
    """What BertForQuestionAnswering computes."""

    start_logits: Tensor  # (B, S)
    end_logits: Tensor  # (B, S)
    loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H)
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S)


class MaskedLMHead(nn.Module):
    """From a state back to a word: a layer with LayerNorm, then a score against every word embedding.

    The decoder's matrix *is* the word embedding (tied weights); only its bias is its own.
    """

    def __init__(self, config: BertConfig, word: nn.Embedding):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.hidden_act]()
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = word.weight

    def forward(self, hidden: Tensor) -> Tensor:
        return self.decoder(self.transform(hidden))  # (..., H) -decoder-> (..., V)

    def transform(self, hidden: Tensor) -> Tensor:
        return self.norm(self.activation(self.dense(hidden)))  # (..., H) -dense-> (..., H)


class BertForMaskedLM(PretrainedModel):
    """Predict the hidden words (Devlin et al. 2019, section 3.1, task 1). Gives a MaskedLMOutput.

    Inputs as in BertModel. labels (B, S): the word to predict, -100 where there is none; the loss is the
    mean over the others, 0 if there are none. masked_only runs the decoder at the labelled positions
    alone, in training most of the work saved.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config, add_pooler=False)
        self.mlm = MaskedLMHead(config, self.bert.embeddings.word)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        masked_only: bool = False,
        **wanted: bool | Tensor | None,
    ) -> MaskedLMOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **wanted)
        hidden, labels = select_masked(out.last_hidden_state, labels, masked_only, self.config.vocab_size)
        logits = self.mlm(hidden)
        return MaskedLMOutput(
            logits=logits,
            loss=masked_lm_loss(logits, labels),
            masked_labels=labels if masked_only else None,
            hidden_states=out.hidden_states,
            attentions=out.attentions,
        )


class BertForPreTraining(PretrainedModel):
    """Both pretraining tasks at once (Devlin et al. 2019, section 3.1). Gives a PreTrainingOutput.

    Inputs as in BertForMaskedLM, and next_sentence_label (B,): 0 the second text follows the first,
    1 it does not. loss_only, for training: as masked_only, but the logits are made some rows at a time and
    not kept; masked_accuracy tells how often the likeliest word is the right one. `labelled` (M,) are the places of
    the labels, numbers of 0..B*S-1: a GPU, if it is told, need not stop to look for them.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config)
        self.mlm = MaskedLMHead(config, self.bert.embeddings.word)
        self.nsp = nn.Linear(config.hidden_size, 2)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        next_sentence_label: Tensor | None = None,
        masked_only: bool = False,
        loss_only: bool = False,
        labelled: Tensor | None = None,
        **wanted: bool | Tensor | None,
    ) -> PreTrainingOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **wanted)
        masked_only = masked_only or loss_only
        hidden, labels = select_masked(out.last_hidden_state, labels, masked_only, self.config.vocab_size, labelled)
        if loss_only:
            logits = None
            mlm_loss, accuracy = lean_cross_entropy(self.mlm.transform(hidden), self.mlm.decoder, labels)
        else:
            logits, accuracy = self.mlm(hidden), None
            mlm_loss = masked_lm_loss(logits, labels)
        nsp_logits = self.nsp(out.pooler_output)  # (B, H) -nsp-> (B, 2)
        nsp_loss = class_loss(nsp_logits, next_sentence_label, "IsNext, NotNext", "next_sentence_label")
        losses = [loss for loss in (mlm_loss, nsp_loss) if loss is not None]
        return PreTrainingOutput(
            prediction_logits=logits,
            seq_relationship_logits=nsp_logits,
            loss=sum(losses) if losses else None,
            mlm_loss=mlm_loss,
            nsp_loss=nsp_loss,
            masked_labels=labels if masked_only else None,
            masked_accuracy=accuracy,
            hidden_states=out.hidden_states,
            attentions=out.attentions,
        )


class BertForQuestionAnswering(PretrainedModel):
    """Mark the answer in the passage (Devlin et al. 2019, section 4.2). Gives a QuestionAnsweringOutput.

    Inputs as in BertModel. start_positions, end_positions (B,): first and last token of the answer, 0
    ([CLS]) where the passage has none; a position past the last token is ignored. The loss is the mean
    of both ends' cross-entropies.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config, add_pooler=False)
        self.span = nn.Linear(config.hidden_size, 2)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        **wanted: bool | Tensor | None,
    ) -> QuestionAnsweringOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **wanted)
        # (B, S, H) -span-> (B, S, 2) -split-> 2 x (B, S)
        start_logits, end_logits = self.span(out.last_hidden_state).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = (span_loss(start_logits, start_positions) + span_loss(end_logits, end_positions)) / 2
        return QuestionAnsweringOutput(start_logits, end_logits, loss, out.hidden_states, out.attentions)


def select_masked(
    hidden: Tensor, labels: Tensor | None, masked_only: bool, vocab_size: int, labelled: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """All states (B, S, H), or with masked_only those of the M labelled positions: (M, H), (M,)."""
    if labels is not None:
        check_labels("labels", labels, hidden.shape[:-1], vocab_size, "vocab_size")
    if not masked_only:
        return hidden, labels
    if labels is None:
        raise InputError("masked_only needs labels: they say which positions are masked")
    if labelled is None:
        labelled = labelled_places(labels)
    # (B, S, H) -> (M, H), (B, S) -> (M,)
    return hidden.flatten(0, 1).index_select(0, labelled), labels.flatten().index_select(0, labelled)


def labelled_places(labels: Tensor) -> Tensor:
    """Where labels (B, S) are not ignored: (M,), numbers of 0..B*S-1."""
    return (labels != IGNORED).flatten().nonzero().squeeze(1)


def class_loss(logits: Tensor, labels: Tensor | None, reason: str, name: str = "labels") -> Tensor | None:
    """Mean cross-entropy over the labels that are not ignored; logits (..., N), labels (...)."""
    if labels is None:
        return None
    check_labels(name, labels, logits.shape[:-1], logits.size(-1), reason)
    # (..., N) -flatten-> (M, N), (...) -flatten-> (M,)
    return mean_cross_entropy(logits.flatten(0, -2), labels.flatten())


def check_labels(name: str, labels: Tensor, shape: torch.Size, classes: int, reason: str) -> None:
    """Labels of one shape; on the CPU, those not ignored must be classes."""
    if labels.shape != shape:
        raise InputError(f"{name} must be {tuple(shape)}, not {tuple(labels.shape)}")
    if labels.is_floating_point():
        raise InputError(f"{name} must be whole numbers, not {labels.dtype}")
    if labels.device.type == "cpu":
        check_range(name, labels[labels != IGNORED], classes, reason)


def masked_lm_loss(logits: Tensor, labels: Tensor | None) -> Tensor | None:
    """Mean cross-entropy over the labelled positions; logits (B, S, V) or (M, V)."""
    if labels is None:
        return None
    # (B, S, V) -flatten-> (B*S, V), (B, S) -flatten-> (B*S,)
    return mean_cross_entropy(logits.flatten(0, -2), labels.flatten())


def span_loss(logits: Tensor, positions: Tensor) -> Tensor:
    """Cross-entropy of one end of the answer, logits (B, S): the classes are the tokens."""
    tokens = logits.size(1)
    return mean_cross_entropy(logits, positions.clamp(0, tokens), ignored=tokens)


def mean_cross_entropy(logits: Tensor, targets: Tensor, ignored: int = IGNORED) -> Tensor:
    """Mean over the targets that count; 0, not nan, where none does. logits (N, C), targets (N,)."""
    total = F.cross_entropy(logits, targets, ignore_index=ignored, reduction="sum")
    return total / (targets != ignored).sum().clamp(min=1)
