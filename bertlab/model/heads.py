"""The heads of pretraining and of question answering.

Shapes: B sequences, S tokens, H hidden size, V vocabulary, M masked positions.
"""

from dataclasses import dataclass
from typing import TypedDict, Unpack

from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError
from bertlab.model.attend import Packing
from bertlab.model.base import PretrainedModel, check_labels, check_tensors, is_recorded
from bertlab.model.encoder import ACTIVATIONS, BertModel
from bertlab.model.losses import class_loss, lean_cross_entropy, mean_cross_entropy, span_loss, total


class EncoderOptions(TypedDict, total=False):
    """What a call of any model may ask of its encoder; see BertModel."""

    output_attentions: bool
    output_hidden_states: bool
    head_mask: Tensor | None
    packed: bool | Packing


@dataclass
class MaskedLMOutput:
    """What BertForMaskedLM computes."""

    logits: Tensor | None  # (B, S, V); (M, V) with masked_only; None with labels alone: see BertForMaskedLM
    loss: Tensor | None = None
    masked_labels: Tensor | None = None  # (M,), with labels but without output_logits
    masked_accuracy: Tensor | None = None  # 0-d, where the logits are None
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H)
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S)


@dataclass
class PreTrainingOutput:
    """What BertForPreTraining computes; loss = mlm_loss + nsp_loss, of those whose labels were given."""

    prediction_logits: Tensor | None  # (B, S, V); (M, V) with masked_only; None with labels alone
    seq_relationship_logits: Tensor  # (B, 2): IsNext, NotNext
    loss: Tensor | None = None
    mlm_loss: Tensor | None = None
    nsp_loss: Tensor | None = None
    masked_labels: Tensor | None = None  # (M,), with labels but without output_logits
    masked_accuracy: Tensor | None = None  # 0-d, where the logits are None
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
    """From a state back to a word: a layer with LayerNorm, then a logit for every word embedding.

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

    def output(
        self,
        hidden: Tensor,
        labels: Tensor | None,
        output_logits: bool = False,
        masked_only: bool = False,
        labelled: Tensor | None = None,
    ) -> MaskedLMOutput:
        """Return those logits and losses of the states hidden (B, S, H) that are asked for; see BertForMaskedLM."""
        if labels is None:
            if masked_only:
                raise InputError("masked_only needs labels: they say which positions are masked")
            return MaskedLMOutput(self(hidden))
        check_labels("labels", labels, hidden.shape[:-1], self.decoder.out_features, "vocab_size")
        if output_logits:
            logits = self(hidden)
            return MaskedLMOutput(logits, mean_cross_entropy(logits, labels))
        chosen = labelled_positions(labels) if labelled is None else labelled
        # (B, S, H) -> (M, H), (B, S) -> (M,)
        hidden, labels = hidden.flatten(0, 1).index_select(0, chosen), labels.flatten().index_select(0, chosen).long()
        if masked_only:
            logits = self(hidden)
            return MaskedLMOutput(logits, mean_cross_entropy(logits, labels), labels)
        loss, accuracy = lean_cross_entropy(self.transform(hidden), self.decoder, labels)
        return MaskedLMOutput(None, loss, labels, accuracy)


class BertForMaskedLM(PretrainedModel):
    """Predict the masked words (Devlin et al. 2019, section 3.1, task 1). Gives a MaskedLMOutput.

    Inputs as in BertModel, and labels (B, S): the word to predict, -100 where there is none. The loss is the mean over
    the labelled positions, 0 if there are none.

    Without labels the logits are (B, S, V). **With labels only the loss is computed**, with masked_accuracy, the share
    of labelled positions where the likeliest word is right: the decoder runs at the labelled positions alone, some of
    them at a time, and the encoder leaves padding out. For most models this is several times as fast.
    output_logits=True computes all logits too, as transformers does; masked_only=True those (M, V) at the labelled
    positions. `labelled` (M,), numbers of 0..B*S-1, are these positions: with them a GPU need not stop to look.
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
        output_logits: bool = False,
        masked_only: bool = False,
        labelled: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> MaskedLMOutput:
        options = without_padding(options, None if output_logits else labels, attention_mask)
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        result = self.mlm.output(out.last_hidden_state, labels, output_logits, masked_only, labelled)
        result.hidden_states, result.attentions = out.hidden_states, out.attentions
        return result


class BertForPreTraining(PretrainedModel):
    """Both pretraining tasks at once (Devlin et al. 2019, section 3.1). Gives a PreTrainingOutput.

    Inputs as in BertForMaskedLM, where it says when the prediction_logits are there; and next_sentence_label (B,):
    0 the second text follows the first, 1 it does not.
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
        output_logits: bool = False,
        masked_only: bool = False,
        labelled: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> PreTrainingOutput:
        options = without_padding(options, None if output_logits else labels, attention_mask)
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        masked = self.mlm.output(out.last_hidden_state, labels, output_logits, masked_only, labelled)
        nsp_logits = self.nsp(out.pooler_output)  # (B, H) -nsp-> (B, 2)
        nsp_loss = class_loss(nsp_logits, next_sentence_label, "IsNext, NotNext", "next_sentence_label")
        return PreTrainingOutput(
            prediction_logits=masked.logits,
            seq_relationship_logits=nsp_logits,
            loss=total(masked.loss, nsp_loss),
            mlm_loss=masked.loss,
            nsp_loss=nsp_loss,
            masked_labels=masked.masked_labels,
            masked_accuracy=masked.masked_accuracy,
            hidden_states=out.hidden_states,
            attentions=out.attentions,
        )


class BertForQuestionAnswering(PretrainedModel):
    """Mark the answer in the passage (Devlin et al. 2019, section 4.2). Gives a QuestionAnsweringOutput.

    Inputs as in BertModel. start_positions, end_positions (B,): first and last token of the answer, 0
    ([CLS]) where the passage has none; -100 and a position past the last token are ignored. The loss is the
    mean of both ends' cross-entropies.
    """

    def __init__(self, config: BertConfig):
        if config.num_labels != 2:  # those of the head that the weights come from: transformers would size ours by them
            config = config.changed(num_labels=2)
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
        **options: Unpack[EncoderOptions],
    ) -> QuestionAnsweringOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        # (B, S, H) -span-> (B, S, 2) -split-> 2 x (B, S)
        start_logits, end_logits = self.span(out.last_hidden_state).unbind(-1)
        check_tensors(start_positions=start_positions, end_positions=end_positions)
        loss = None
        if start_positions is not None and end_positions is not None:
            first = span_loss(start_logits, start_positions, "start_positions")
            loss = (first + span_loss(end_logits, end_positions, "end_positions")) / 2
        return QuestionAnsweringOutput(start_logits, end_logits, loss, out.hidden_states, out.attentions)


def without_padding(options: EncoderOptions, labels: Tensor | None, attention_mask: Tensor | None) -> EncoderOptions:
    """Ask the encoder for no work on padding where only the loss counts, unless the options say something of `packed`.

    States and attentions that are asked for stay whole, and so does a batch with a label on its padding.
    """
    check_tensors(labels=labels)
    if "packed" in options or is_recorded():
        return options
    whole = options.get("output_hidden_states") or options.get("output_attentions")
    packed = labels is not None and not whole and not labels_on_padding(labels, attention_mask)
    return {**options, "packed": packed}


def labels_on_padding(labels: Tensor, attention_mask: Tensor | None) -> bool:
    """Return whether a label (B, S) counts where the attention_mask (B, S) is 0; False on a GPU, which ignores
    packed=True."""
    if attention_mask is None or labels.shape != attention_mask.shape or labels.device.type != "cpu":
        return False
    return bool(((attention_mask == 0) & (labels != IGNORED)).any())


def labelled_positions(labels: Tensor) -> Tensor:
    """Return where labels (B, S) are not ignored: (M,), numbers of 0..B*S-1."""
    return (labels != IGNORED).flatten().nonzero().squeeze(1)
