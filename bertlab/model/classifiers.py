"""The heads that give a text, a token or a choice its class (Devlin et al. 2019, section 4, figure 4).

Shapes: B sequences, S tokens, H hidden size, N labels (config.num_labels), C choices.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model.checkpoint import PretrainedModel
from bertlab.model.encoder import BertModel, BertOutput
from bertlab.model.heads import class_loss


@dataclass
class ClassifierOutput:
    """What the classifiers compute."""

    logits: Tensor  # (B, N); (B, S, N) for tokens, (B, C) for choices, (B, 2) for next sentences
    loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H); (B*C, S, H) for choices
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S); (B*C, A, S, S) for choices


class BertClassifier(PretrainedModel):
    """What the classifiers share: an encoder, dropout, one layer that scores the labels."""

    def __init__(self, config: BertConfig, labels: int, add_pooler: bool = True):
        super().__init__(config)
        self.bert = BertModel(config, add_pooler)
        dropout = config.classifier_dropout
        self.dropout = nn.Dropout(config.hidden_dropout_prob if dropout is None else dropout)
        self.classifier = nn.Linear(config.hidden_size, labels)
        self.initialise()

    def score(self, states: Tensor) -> Tensor:
        return self.classifier(self.dropout(states))  # (..., H) -classifier-> (..., N)


class BertForSequenceClassification(BertClassifier):
    """One class, several, or numbers for a whole text or pair (Devlin et al. 2019, section 4.1).

    Inputs as in BertModel; gives a ClassifierOutput with logits (B, N). What `labels` are and how they are
    scored is config.problem_type; where that is not set, num_labels and labels tell:

    - "regression" (one label): numbers (B,) or (B, N), mean squared error;
    - "single_label_classification" (whole numbers): (B,) of 0..N-1, -100 ignored, cross-entropy;
    - "multi_label_classification" (floats): (B, N) of 0 or 1, binary cross-entropy of each label.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, config.num_labels)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **wanted: bool | Tensor | None,
    ) -> ClassifierOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **wanted)
        logits = self.score(out.pooler_output)  # (B, H) -> (B, N)
        loss = None if labels is None else sequence_loss(self.config, logits, labels)
        return ClassifierOutput(logits, loss, out.hidden_states, out.attentions)


class BertForTokenClassification(BertClassifier):
    """A class for every token, such as the kind of name it belongs to (Devlin et al. 2019, section 5.3).

    Inputs as in BertModel; labels (B, S): 0..N-1, -100 where none counts (special tokens, padding, the later
    pieces of a word). Gives a ClassifierOutput with logits (B, S, N).
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, config.num_labels, add_pooler=False)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **wanted: bool | Tensor | None,
    ) -> ClassifierOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **wanted)
        logits = self.score(out.last_hidden_state)  # (B, S, H) -> (B, S, N)
        return ClassifierOutput(logits, class_loss(logits, labels, "num_labels"), out.hidden_states, out.attentions)


class BertForMultipleChoice(BertClassifier):
    """Which of C continuations is the right one (Devlin et al. 2019, section 4.4, SWAG).

    Inputs as in BertModel, but (B, C, S): the text with each of its choices; labels (B,): the number of the
    right one. Every choice is read alone and scored by one number. Gives a ClassifierOutput with logits (B, C).
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, 1)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **wanted: bool | Tensor | None,
    ) -> ClassifierOutput:
        if input_ids.dim() != 3:
            raise InputError(f"input_ids must be (batch, choices, tokens), not {tuple(input_ids.shape)}")
        out = self._each_choice(input_ids, attention_mask, token_type_ids, **wanted)
        # (B*C, H) -> (B*C, 1) -unflatten-> (B, C)
        logits = self.score(out.pooler_output).view(input_ids.shape[:2])
        return ClassifierOutput(logits, class_loss(logits, labels, "choices"), out.hidden_states, out.attentions)

    def _each_choice(self, *inputs: Tensor | None, **wanted: bool | Tensor | None) -> BertOutput:
        # (B, C, S) -flatten-> (B*C, S)
        return self.bert(*(None if tensor is None else tensor.flatten(0, 1) for tensor in inputs), **wanted)


class BertForNextSentencePrediction(PretrainedModel):
    """Does the second text follow the first? (Devlin et al. 2019, section 3.1, task 2).

    Inputs as in BertModel; labels (B,): 0 it does, 1 it does not. Gives a ClassifierOutput with logits (B, 2).
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config)
        self.nsp = nn.Linear(config.hidden_size, 2)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **wanted: bool | Tensor | None,
    ) -> ClassifierOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **wanted)
        logits = self.nsp(out.pooler_output)  # (B, H) -nsp-> (B, 2)
        loss = class_loss(logits, labels, "IsNext, NotNext")
        return ClassifierOutput(logits, loss, out.hidden_states, out.attentions)


def sequence_loss(config: BertConfig, logits: Tensor, labels: Tensor) -> Tensor:
    """The loss of BertForSequenceClassification; logits (B, N)."""
    problem = config.problem_type or problem_of(config.num_labels, labels)
    if problem == "single_label_classification":
        return class_loss(logits, labels, "num_labels")
    if problem == "regression" and logits.size(1) == 1:
        labels = labels.view(-1, 1)  # (B,) or (B, 1) -> (B, 1)
    if labels.shape != logits.shape:
        raise InputError(f"labels for {problem} must be {tuple(logits.shape)}, not {tuple(labels.shape)}")
    loss = F.mse_loss if problem == "regression" else F.binary_cross_entropy_with_logits
    return loss(logits, labels.to(logits.dtype))


def problem_of(num_labels: int, labels: Tensor) -> str:
    """The published guess where config.problem_type is not set."""
    if num_labels == 1:
        return "regression"
    return "multi_label_classification" if labels.is_floating_point() else "single_label_classification"
