"""GPT: BERT's own layers, but each token sees only itself and the tokens to its left (Radford et al. 2018).

It learns to predict the next token. For a task it gets one linear layer on the state of the last token, and goes on
predicting tokens beside it (section 3.2). Each task becomes rows of tokens (section 3.3, figure 1).

Shapes: B texts or examples, R rows of an example, S tokens, H hidden size, V vocabulary, N classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.model.base import PretrainedModel
from bertlab.model.encoder import Encoder, causal_mask
from bertlab.tokenizer import Tokenizer

AUXILIARY = 0.5  # lambda: the share of the language model's loss in fine-tuning (section 4.1)
PUBLISHED = {  # our names -> those of the released checkpoints
    "word": "tokens_embed",
    "position": "positions_embed",
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "attention_norm": "ln_1",
    "feed_forward.up": "mlp.c_fc",
    "feed_forward.down": "mlp.c_proj",
    "feed_forward_norm": "ln_2",
}


@dataclass
class GptOutput:
    """What a Gpt computes. The loss is the mean over all tokens that have a token before them."""

    last_hidden_state: Tensor  # (B, S, H)
    hidden_states: tuple[Tensor, ...]  # L+1 x (B, S, H)
    loss: Tensor | None = None


class Gpt(PretrainedModel):
    """The language model. Unlike BERT's, its embeddings have no segments and no LayerNorm.

    A call takes input_ids and attention_mask (B, S), 0 for padding, which stands at the right. With `predict` the
    output has the loss of the next tokens.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.encoder = Encoder(config)
        self.initialise()

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, *, predict: bool = False) -> GptOutput:
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        x = self.dropout(self.word(input_ids) + self.position(positions))  # (B, S, H)
        states, _ = self.encoder(x, causal_mask(None, input_ids))  # padding is to the right: nothing sees it
        out = GptOutput(states[-1], states)
        if predict:
            following = input_ids[:, 1:]  # (B, S - 1)
            if attention_mask is not None:
                following = following.masked_fill(attention_mask[:, 1:] == 0, IGNORED)
            out.loss = F.cross_entropy(self.logits(states[-1][:, :-1]).flatten(0, 1), following.flatten())
        return out

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token (..., V): the output layer is the table of word embeddings (tied)."""
        return states @ self.word.weight.T  # (..., H) -> (..., V)


@dataclass
class GptClassifierOutput:
    """What a GptClassifier computes."""

    logits: Tensor  # (B, N), or (B, R) of choices
    loss: Tensor | None = None  # L2 + lambda L1 (section 3.2, equation 5)


class GptClassifier(nn.Module):
    """A GPT with one linear layer on the state of each row's last token.

    `form` says what the rows of an example are: "rows": one, a text or a pair; "orders": two, both orders of a pair,
    whose states are added; "choices": one for each choice, and each gets one logit.
    """

    def __init__(self, gpt: Gpt, classes: int, form: str = "rows"):
        super().__init__()
        self.gpt, self.form = gpt, form
        self.dropout = nn.Dropout(gpt.config.hidden_dropout_prob)
        self.classifier = nn.Linear(gpt.config.hidden_size, 1 if form == "choices" else classes)
        nn.init.normal_(self.classifier.weight, std=gpt.config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None) -> GptClassifierOutput:
        """input_ids, attention_mask (B, R, S), labels (B,)."""
        rows, real = input_ids.flatten(0, 1), attention_mask.flatten(0, 1)  # (B, R, S) -> (BR, S)
        out = self.gpt(rows, real, predict=labels is not None)
        last = out.last_hidden_state[
            torch.arange(len(rows), device=rows.device), real.sum(1) - 1
        ]  # (BR, S, H) -> (BR, H)
        states = self.dropout(last).unflatten(0, input_ids.shape[:2])  # (BR, H) -> (B, R, H)
        logits = self.classifier(states if self.form == "choices" else states.sum(1))  # (B, R, 1) or (B, N)
        logits = logits.squeeze(-1) if self.form == "choices" else logits
        if labels is None:
            return GptClassifierOutput(logits)
        return GptClassifierOutput(logits, F.cross_entropy(logits, labels) + AUXILIARY * out.loss)


def task_rows(
    tokenizer: Tokenizer, form: str, text: str, others: Sequence[str] = (), max_length: int = 128
) -> list[list[int]]:
    """Return the rows of one example: [CLS] first, [SEP] as delimiter, and last [MASK], which pretraining never shows.

    "rows": a text, or a text and another one; "orders": the pair in both orders; "choices": the text with each choice.
    """
    first, *ids = tokenizer.encode_batch([text, *others])
    if not ids:
        return [_row(tokenizer, first, None, max_length)]
    pairs = [(first, ids[0]), (ids[0], first)] if form == "orders" else [(first, other) for other in ids]
    return [_row(tokenizer, a, b, max_length) for a, b in pairs]


def _row(tokenizer: Tokenizer, first: list[int], second: list[int] | None, most: int) -> list[int]:
    middle = [] if second is None else [tokenizer.sep_token_id, *second]
    kept = max(0, most - len(middle) - 2)
    return [tokenizer.cls_token_id, *first[:kept], *middle, tokenizer.mask_token_id]


def to_published(gpt: Gpt) -> dict[str, Tensor]:
    """Return the weights under the names of the released checkpoints, whose matrices are stored as (in, out)."""
    return {_theirs(name): _turned(name, weight) for name, weight in gpt.state_dict().items()}


def from_published(gpt: Gpt, tensors: Mapping[str, Tensor]) -> None:
    """Load weights with the names of the released checkpoints."""
    gpt.load_state_dict({name: _turned(name, tensors[_theirs(name)]) for name in gpt.state_dict()})


def _theirs(name: str) -> str:
    name = name.replace("encoder.layers.", "h.")
    module, _, leaf = name.rpartition(".")
    ours = next(ours for ours in PUBLISHED if module == ours or module.endswith(f".{ours}"))
    return f"{module.removesuffix(ours)}{PUBLISHED[ours]}.{leaf}"


def _turned(name: str, weight: Tensor) -> Tensor:
    return weight.T.clone() if ".layers." in name and weight.dim() == 2 else weight
