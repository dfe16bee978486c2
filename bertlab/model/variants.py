"""What later papers changed in BERT's encoder, each switched in by a field of BertConfig.

- position_embedding_type="rotary": queries and keys are turned by their position (Su et al. 2021, "RoFormer"), and no
  position vector is added.
- pre_norm: LayerNorm stands before each sublayer, not after it, and once more at the end (Xiong et al. 2020).
- gated_feed_forward: one half of what `up` gives, after the activation, multiplies the other half; with GELU it is
  GeGLU (Shazeer 2020).
- shared_layers: all layers have the same weights (Lan et al. 2020, "ALBERT").

The first three together make the encoder of ModernBERT (Warner et al. 2024), except for its local attention, its
missing biases, and its first LayerNorm, which it leaves out. A plain BERT never comes here.

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, I intermediate size.
"""

import torch
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.model import encoder
from bertlab.model.encoder import Encoder, FeedForward, Layer, Mask, MultiHeadAttention, Tensors

BASE = 10_000.0  # the lowest frequency turns by one radian in nearly so many tokens (Su et al. 2021, section 3.2.2)


class BertModel(encoder.BertModel):
    """The encoder without a head, changed as its config asks."""

    def __init__(self, config: BertConfig, add_pooler: bool = True):
        super().__init__(config, add_pooler)
        if config.variants:
            change_encoder(self)
            self.initialise()


def change_encoder(model: encoder.BertModel) -> None:
    """Change the modules of a new model in place."""
    config, changed = model.config, model.encoder
    if config.shared_layers:
        changed.layers = nn.ModuleList([changed.layers[0]] * len(changed.layers))
    if config.position_embedding_type == "rotary":
        model.embeddings.position = NoPositions(config)  # type: ignore[assignment]
    if config.pre_norm:
        changed.__class__ = PreNormEncoder
        changed.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
    for layer in set(changed.layers):
        change_layer(layer, config)  # type: ignore[arg-type]  # a ModuleList


def change_layer(layer: Layer, config: BertConfig) -> None:
    if config.position_embedding_type == "rotary":
        layer.attention.qkv = RotaryProjection(layer.attention)
    if config.gated_feed_forward:
        layer.feed_forward = GatedFeedForward(config)
    if config.pre_norm:
        layer.__class__ = PreNormLayer


class NoPositions(nn.Module):
    """In place of the position embedding: nothing is added."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.shape = config.max_position_embeddings, config.hidden_size

    @property
    def weight(self) -> Tensor:
        return torch.zeros(self.shape)

    def forward(self, positions: Tensor) -> Tensor:
        return positions.new_zeros(1)  # (1,), added to (B, S, H)


class RotaryProjection(nn.Linear):
    """Attention's `qkv`, whose queries and keys are turned: their product depends on the distance of two tokens."""

    def __init__(self, attention: MultiHeadAttention):
        super().__init__(attention.qkv.in_features, attention.qkv.out_features)
        self.heads = attention.heads

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """x (..., S, H) -> (..., S, 3H); positions (S,), by default 0, 1, ..."""
        if positions is None:
            positions = torch.arange(x.size(-2), device=x.device)
        qkv = super().forward(x).unflatten(-1, (3, self.heads, -1))  # (..., S, 3H) -> (..., S, 3, A, D)
        turned = rotate(qkv[..., :2, :, :], positions[:, None, None])
        return torch.cat([turned, qkv[..., 2:, :, :]], dim=-3).flatten(-3)


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Turn number d and number D/2 + d of x (..., D), as a point in the plane, by position * BASE ** (-2d / D).

    `positions` has the shape of x without its last axis, or broadcasts to it.
    """
    half = x.size(-1) // 2
    rates = BASE ** -(torch.arange(half, device=x.device) / half)  # (D/2,)
    angles = positions[..., None] * rates  # (..., D/2), in float32 under autocast too
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class GatedFeedForward(FeedForward):
    """Two layers from H to I, of which one opens and closes the other, and one layer back."""

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.up = nn.Linear(config.hidden_size, 2 * config.intermediate_size)

    def forward(self, x: Tensor) -> Tensor:
        # (B, S, H) -up-> (B, S, 2I) -halves-> 2 x (B, S, I) -down-> (B, S, H)
        opened, values = self.up(x).chunk(2, dim=-1)
        return self.down(self.activation(opened) * values)


class PreNormLayer(Layer):
    """Attention, then feed-forward; each reads a normalised copy of what it is added to (pre-LN)."""

    def forward(self, x: Tensor, padding: Mask = None, head_mask: Mask = None) -> tuple[Tensor, Tensor]:
        attended, probabilities = self.attention(self.attention_norm(x), padding, head_mask)
        x = x + self.dropout(attended)
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), probabilities


class PreNormEncoder(Encoder):
    """The layers, and a LayerNorm on what the last one gives."""

    norm: nn.LayerNorm

    def forward(self, x: Tensor, padding: Mask = None, head_mask: Mask = None) -> tuple[Tensors, Tensors]:
        states, attentions = super().forward(x, padding, head_mask)
        return (*states[:-1], self.norm(states[-1])), attentions
