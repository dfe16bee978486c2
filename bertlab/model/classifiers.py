"""The heads that classify a text, a token or a choice (Devlin et al. 2019, section 4, figure 4).

Shapes: B sequences, S tokens, H hidden size, N labels (config.num_labels), C choices.
"""

from dataclasses import dataclass
from typing import Unpack

import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError
from bertlab.model.base import PretrainedModel, check_alike, check_labels, check_tensors, may_be_read
from bertlab.model.cpu import Dropout
from bertlab.model.crf import CRF, precise
from bertlab.model.encoder import BertModel, BertOutput
from bertlab.model.heads import EncoderOptions, without_padding
from bertlab.model.losses import class_loss, mean_cross_entropy
from bertlab.model.pooling import LayerMix, WordConvolution, mean_over_tokens, moved, word_positions


@dataclass
class ClassifierOutput:
    """What the classifiers compute."""

    logits: Tensor  # (B, N); (B, S, N) for tokens, (B, C) for choices, (B, 2) for next sentences
    loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H); (B*C, S, H) for choices
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S); (B*C, A, S, S) for choices


class BertClassifier(PretrainedModel):
    """What the classifiers share: an encoder, a mix of its layers, dropout, one layer that gives the logits."""

    def __init__(self, config: BertConfig, labels: int, add_pooler: bool = True):
        super().__init__(config)
        mixed = config.layer_mix != "last"
        self.bert = BertModel(config, add_pooler and config.pooling == "cls" and not mixed)
        self.mix = LayerMix(config) if mixed else None
        dropout = config.classifier_dropout
        self.dropout = Dropout(config.hidden_dropout_prob if dropout is None else dropout)
        self.classifier = nn.Linear(config.hidden_size if self.mix is None else self.mix.width, labels)

    def encode(self, *inputs: Tensor | None, **options: Unpack[EncoderOptions]) -> tuple[Tensor, BertOutput]:
        """Return the states that the head reads, (B, S, H) or as wide as the mix, and the encoder's output."""
        whole = options.get("output_hidden_states", False)
        options["output_hidden_states"] = whole or self.mix is not None
        out = self.bert(*inputs, **options)
        states = out.last_hidden_state if self.mix is None else self.mix(out.hidden_states)
        if not whole:
            out.hidden_states = None
        return states, out

    def encode_text(self, *inputs: Tensor | None, **options: Unpack[EncoderOptions]) -> tuple[Tensor, BertOutput]:
        """Return one vector of each text, (B, H) or as wide as the mix, and the encoder's output."""
        states, out = self.encode(*inputs, **options)
        if self.config.pooling == "mean":
            return mean_over_tokens(states, inputs[1]), out  # (B, S, H) -> (B, H)
        return (states[:, 0] if out.pooler_output is None else out.pooler_output), out

    @staticmethod
    def reads_first_token(config: BertConfig) -> bool:
        return config.pooling == "cls"

    def logits(self, states: Tensor) -> Tensor:
        return self.classifier(self.dropout(states))  # (..., H) -classifier-> (..., N)


class BertForSequenceClassification(BertClassifier):
    """One class, several, or numbers for a whole text or pair (Devlin et al. 2019, section 4.1).

    Inputs as in BertModel; gives a ClassifierOutput with logits (B, N). config.problem_type decides what `labels` are
    and which loss they get; where it is not set, num_labels and labels decide:

    - "regression" (one label): numbers (B,) or (B, N), mean squared error;
    - "single_label_classification" (whole numbers): (B,) of 0..N-1, -100 ignored, cross-entropy;
    - "multi_label_classification" (floats): (B, N) of 0 or 1, binary cross-entropy of each label.

    config.pooling is the vector that stands for the text: "cls", the pooler on the last layer's [CLS], as published, or
    "mean", the mean over its tokens, which needs no pooler. With a config.layer_mix other than "last" the states are
    those of LayerMix, and "cls" is the mixed state of [CLS] itself: the pooler was trained on the last layer alone.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, config.num_labels)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> ClassifierOutput:
        options = without_padding(options, labels, attention_mask)
        pooled, out = self.encode_text(input_ids, attention_mask, token_type_ids, **options)
        logits = self.logits(pooled)  # (B, H) -> (B, N)
        loss = None if labels is None else sequence_loss(self.config, logits, labels)
        return ClassifierOutput(logits, loss, out.hidden_states, out.attentions)


class BertForTokenClassification(BertClassifier):
    """A class for every token, such as the kind of name it belongs to (Devlin et al. 2019, section 5.3).

    Inputs as in BertModel; labels (B, S): 0..N-1, -100 where none counts (special tokens, padding, the later
    pieces of a word). Gives a ClassifierOutput with logits (B, S, N).

    config.token_decoder: "linear", as published, classifies each token by itself; "cnn" also sees the words to its left
    and right; "crf" chooses the labels of a sentence together, and its loss is the negative log-likelihood over the
    number of labels. The last two work on words, not tokens: on the first pieces, which are those that have labels, or
    where `word_mask` (B, S) bool is True. `decode` gives the words their labels.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, config.num_labels, add_pooler=False)
        self.convolution = self.crf = None
        if config.token_decoder == "cnn":
            self.convolution = WordConvolution(self.classifier.in_features, config.hidden_size)
            self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        if config.token_decoder == "crf":
            self.crf = CRF(list(config.id2label.values()))
        self.initialise()

    @staticmethod
    def reads_first_token(config: BertConfig) -> bool:
        return False

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        word_mask: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> ClassifierOutput:
        options = without_padding(options, labels, attention_mask)
        states, out = self.encode(input_ids, attention_mask, token_type_ids, **options)
        if self.convolution is not None:
            states = self.convolution(states, _words(states, labels, word_mask))
        logits = self.logits(states)  # (B, S, H) -> (B, S, N)
        return ClassifierOutput(logits, self._loss(logits, labels), out.hidden_states, out.attentions)

    def decode(self, logits: Tensor, word_mask: Tensor) -> list[list[int]]:
        """Return the label of each word of each row, from logits (B, S, N) and first pieces (B, S) bool."""
        word_mask = _words(logits, None, word_mask)
        positions = word_positions(word_mask)
        emissions = moved(logits, word_mask, positions)  # (B, S, N) -> (B, W, N)
        labels = emissions.argmax(-1) if self.crf is None else self.crf.decode(emissions, positions)  # (B, W)
        return [row[real].tolist() for row, real in zip(labels.cpu(), positions.cpu(), strict=True)]

    def _loss(self, logits: Tensor, labels: Tensor | None) -> Tensor | None:
        if self.crf is None or labels is None:
            return class_loss(logits, labels, "num_labels")
        check_labels("labels", labels, logits.shape[:-1], logits.size(-1), "num_labels")
        labelled = labels != IGNORED
        positions = word_positions(labelled)
        # (B, S, N), (B, S) -> (B, W, N), (B, W)
        emissions, words = moved(logits, labelled, positions), moved(labels, labelled, positions)
        return -self.crf.log_likelihood(emissions, words, positions).sum() / labelled.sum().clamp(min=1)


def _words(states: Tensor, labels: Tensor | None, word_mask: Tensor | None) -> Tensor:
    """Return where the words of states (B, S, ...) begin: (B, S) bool."""
    check_tensors(labels=labels, word_mask=word_mask)
    if word_mask is None:
        if labels is None:
            raise InputError("token_decoder 'cnn' needs word_mask or labels: they say where words begin")
        word_mask = labels.ne(IGNORED)
    words = word_mask.ne(0)
    if words.shape != states.shape[:2]:
        raise InputError(f"word_mask or labels must be {tuple(states.shape[:2])}, not {tuple(words.shape)}")
    return words


class BertForMultipleChoice(BertClassifier):
    """Which of C continuations is the right one (Devlin et al. 2019, section 4.4, SWAG).

    Inputs as in BertModel, but (B, C, S): the text with each of its choices; labels (B,): the number of the
    right one. Every choice is encoded alone, as BertForSequenceClassification encodes a text, and gets one logit.
    Gives a ClassifierOutput with logits (B, C).
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, 1)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> ClassifierOutput:
        check_alike(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        if input_ids.dim() != 3:
            raise InputError(f"input_ids must be (batch, choices, tokens), not {tuple(input_ids.shape)}")
        options = without_padding(options, labels, attention_mask)
        inputs = (input_ids, attention_mask, token_type_ids)
        # (B, C, S) -flatten-> (B*C, S)
        pooled, out = self.encode_text(*(None if x is None else x.flatten(0, 1) for x in inputs), **options)
        logits = self.logits(pooled).view(input_ids.shape[:2])  # (B*C, H) -> (B*C, 1) -> (B, C)
        return ClassifierOutput(logits, class_loss(logits, labels, "choices"), out.hidden_states, out.attentions)


class BertForNextSentencePrediction(PretrainedModel):
    """Does the second text follow the first? (Devlin et al. 2019, section 3.1, task 2).

    Inputs as in BertModel; labels (B,): 0 it does, 1 it does not. Gives a ClassifierOutput with logits (B, 2).
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config)
        self.nsp = nn.Linear(config.hidden_size, 2)
        self.initialise()

    @staticmethod
    def reads_first_token(config: BertConfig) -> bool:
        return True

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> ClassifierOutput:
        options = without_padding(options, labels, attention_mask)
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        logits = self.nsp(out.pooler_output)  # (B, H) -nsp-> (B, 2)
        loss = class_loss(logits, labels, "IsNext, NotNext")
        return ClassifierOutput(logits, loss, out.hidden_states, out.attentions)


def sequence_loss(config: BertConfig, logits: Tensor, labels: Tensor) -> Tensor:
    """Return the loss of BertForSequenceClassification for logits (B, N)."""
    check_tensors(labels=labels)
    problem = config.problem_type or guessed_problem(config.num_labels, labels)
    if problem == "single_label_classification":
        check_labels("labels", labels, logits.shape[:-1], logits.size(-1), "num_labels")
        return mean_cross_entropy(logits, labels)
    if problem == "regression" and logits.size(1) == 1:
        labels = labels.view(-1, 1)  # (B,) or (B, 1) -> (B, 1)
    if labels.shape != logits.shape:
        raise InputError(f"labels for {problem} must be {tuple(logits.shape)}, not {tuple(labels.shape)}")
    if problem == "multi_label_classification" and may_be_read(labels) and not ((labels >= 0) & (labels <= 1)).all():
        raise InputError("labels for multi_label_classification must be 0 or 1 for each label; they hold other numbers")
    loss = F.mse_loss if problem == "regression" else F.binary_cross_entropy_with_logits
    logits = precise(logits)  # bfloat16 takes 1987 for 1984
    return loss(logits, labels.to(logits.dtype))


def guessed_problem(num_labels: int, labels: Tensor) -> str:
    """Return the published guess where config.problem_type is not set."""
    if num_labels == 1:
        return "regression"
    return "multi_label_classification" if labels.is_floating_point() else "single_label_classification"
