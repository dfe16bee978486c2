"""A pretraining as numbers: the operations and the memory of a step, counted as bertlab's trainer computes it.

On a CPU the layers run on tokens alone and attention on whole rows; on a GPU both run on whole rows, or with `unpadded`
both on tokens alone. The masked-word head runs on masked tokens alone everywhere.
"""

from dataclasses import dataclass, replace
from functools import cache
from math import ceil

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.inputs.masking import Masking
from bertlab.model import BertForPreTraining
from bertlab.model.losses import CPU_ROWS, GPU_ROWS
from bertlab.training.engine.throughput import layer_matrices, operations_by_part

BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class Job:
    """A model, how much text, in what batches, on how many equal devices. InputError names a number that is off."""

    config: BertConfig
    tokens: float = 131e9  # of text, padding not counted
    batch_size: int = 256  # texts of a step, over all devices
    max_tokens: int = 128  # positions of a text
    fill: float = 1.0  # share of the positions that hold tokens, the others are padding
    masked: float = Masking.PAPER.rate  # share of the tokens that are to be predicted
    devices: int = 1
    micro_batch: int = 0  # texts that a device works on at a time; 0: all of its share
    gradient_checkpointing: bool = False
    unpadded: bool = False
    precision: str = "float32"
    on_cpu: bool = False

    def __post_init__(self) -> None:
        for name in ("tokens", "batch_size", "max_tokens"):
            _check(name, getattr(self, name), 1, 1e18)
        for name in ("fill", "masked"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name}={getattr(self, name)}: must be above 0 and at most 1")
        _check("micro_batch", self.micro_batch, 0, 1e18)
        if self.max_tokens > self.config.max_position_embeddings:
            most = self.config.max_position_embeddings
            raise InputError(f"max_tokens={self.max_tokens}: more than the {most} positions of the model")
        if self.batch_size < self.devices:
            raise InputError(f"batch_size={self.batch_size}: fewer than the {self.devices} devices")

    # Sizes

    @property
    def parameters(self) -> int:
        return count_parameters(self.config)

    @property
    def steps(self) -> int:
        return ceil(self.tokens / (self.batch_size * self.max_tokens * self.fill))

    @property
    def share(self) -> int:
        """Texts of a step on the device that has most of them."""
        return ceil(self.batch_size / self.devices)

    @property
    def rows(self) -> int:
        """Texts that a device works on at a time."""
        return min(self.micro_batch or self.share, self.share)

    @property
    def micro_batches(self) -> int:
        """How often a device runs forward and backward in a step."""
        return ceil(self.share / self.rows)

    # Operations

    def needed(self, texts: float) -> dict[str, float]:
        """Return the operations that so many texts need, forward and backward: part -> number. Padding needs none."""
        tokens = self.fill * self.max_tokens
        return operations_by_part(self.config, texts * tokens, texts * tokens**2, texts * tokens * self.masked)

    def made(self, texts: float) -> dict[str, float]:
        """Return the operations that the trainer makes: work on padding and recomputation included."""
        tokens, length = self.fill * self.max_tokens, self.max_tokens
        worked_on = tokens if self.on_cpu or self.unpadded else length  # of each text, in the layers
        row = length if self.on_cpu else worked_on  # in attention
        parts = operations_by_part(self.config, texts * worked_on, texts * row**2, texts * tokens * self.masked)
        if self.gradient_checkpointing:  # forward, a third of the work, once more
            parts["recomputed"] = (parts["layers"] + parts["attention"]) / 3
        return parts

    # Memory

    def memory(self) -> dict[str, float]:
        """Return the bytes that a device needs: part -> bytes. With AdamW; weights, gradients, moments in float32."""
        count, layers, width = self.parameters, self.config.num_hidden_layers, self.config.hidden_size
        held = layers * self.layer_activations()
        if self.gradient_checkpointing:
            held = layers * 4.0 * width * self._tokens() + self.layer_activations()
        parts = {
            "weights": 4.0 * count,
            "gradients": 4.0 * count,
            "AdamW": 8.0 * count,
            "activations of the layers": held,
            "embeddings and heads": self._head_activations(),
        }
        if self.precision == "bfloat16":
            parts["weights in bfloat16"] = 2.0 * self.config.stored_layers * layer_matrices(self.config)
        return parts

    def layer_activations(self) -> float:
        """Return the bytes that one layer keeps of a micro-batch for its backward pass.

        In the type of the products, of each token: what enters queries, keys and values, the feed-forward layer and the
        output of attention, 3 H; before and after GELU, 2 I; queries, keys and values, 3 H. On a CPU also 3 H before
        padding is put back, and of each attention weight its softmax and, with dropout, mask and product. In float32
        the inputs of both LayerNorms, 2 H. Dropout keeps two masks of H.
        """
        config, size = self.config, BYTES[self.precision]
        tokens, positions, width = self._tokens(), self.rows * self.max_tokens, self.config.hidden_size
        drops = config.hidden_dropout_prob > 0
        weights = config.num_attention_heads * positions * self.max_tokens  # of attention
        values = tokens * (3 * width + 2 * config.intermediate_size)
        values += (tokens + positions if self.on_cpu else tokens) * 3 * width
        if self.on_cpu and (drops or self.precision == "bfloat16"):
            values += weights * (3 if config.attention_probs_dropout_prob else 1)
        else:  # fused: no attention weight is kept, its result is
            values += (positions if self.on_cpu else tokens) * width
        masks = 2 * width * tokens * (size if self.on_cpu else 1) * drops
        return float(values * size + 4 * 2 * width * tokens + masks)

    def _tokens(self) -> float:
        """Tokens of a micro-batch, with the padding that is computed."""
        return self.rows * self.max_tokens * (self.fill if self.on_cpu or self.unpadded else 1.0)

    def _head_activations(self) -> float:
        """Bytes around the layers: at each position the embeddings, of each masked token the head's four vectors, the
        gradient of the decoder, and the logits of some rows at a time, twice."""
        width, words, positions = self.config.hidden_size, self.config.vocab_size, self.rows * self.max_tokens
        labels = positions * self.fill * self.masked
        logits = 2 * min(labels, CPU_ROWS if self.on_cpu else GPU_ROWS) * words
        return 4.0 * (4 * width * positions + 4 * width * labels + width * words + logits)

    def largest_micro_batch(self, memory: float) -> int:
        """Return how many texts at a time fit into so many bytes; 0 if not even one does."""
        low, high = 0, self.share
        while low < high:
            middle = (low + high + 1) // 2
            fits = sum(replace(self, micro_batch=middle).memory().values()) <= memory
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


@cache
def count_parameters(config: BertConfig) -> int:
    """Count the parameters of a model for pretraining; tied ones once."""
    return sum(parameter.numel() for parameter in BertForPreTraining.without_values(config).parameters())


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise InputError(f"{name}={value:g}: must be between {least:g} and {most:g}")
