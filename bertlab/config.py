"""The numbers that make one BERT: field names and defaults of the published config.json."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertlab.errors import InputError
from bertlab.locate import locate

# The published sizes: layers, hidden size, heads (Devlin et al. 2019, section 3; Turc et al. 2019).
# Every head is 64 wide and the feed-forward layer four times the hidden size.
SIZES = {
    "tiny": (2, 128, 2),
    "mini": (4, 256, 4),
    "small": (4, 512, 8),
    "medium": (8, 512, 8),
    "base": (12, 768, 12),
    "large": (24, 1024, 16),
}

ACTIVATIONS = ("gelu", "gelu_new", "relu")

# Fields of config.json that would make another model than the one in bertlab.model, and the one value
# for which they do not.
FIXED = {
    "model_type": "bert",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "tie_word_embeddings": True,
    "pruned_heads": {},
}

# Fields that published config.json files carry and that leave the computation of these models as it is.
IGNORED = frozenset(
    """
    _attn_implementation _commit_hash _name_or_path architectures attn_implementation bos_token_id
    chunk_size_feed_forward classifier_dropout cross_attention_hidden_size directionality dtype eos_token_id
    finetuning_task gradient_checkpointing id2label label2id language model_max_length name num_labels
    output_attentions output_hidden_states output_past pooler_fc_size pooler_num_attention_heads
    pooler_num_fc_layers pooler_size_per_head pooler_type problem_type return_dict sep_token_id
    tie_encoder_decoder tokenizer_class torch_dtype torchscript transformers_version use_bfloat16 use_cache
    """.split()
)


@dataclass(frozen=True)
class BertConfig:
    """Shape and training constants of a BERT; the defaults are bert-base-uncased.

    Raises InputError, naming the field, for a value that no BERT can have.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_value(field.name, field.type, getattr(self, field.name))
        if self.hidden_act not in ACTIVATIONS:
            raise InputError(f"hidden_act {self.hidden_act!r} is unknown; known: {', '.join(ACTIVATIONS)}")
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}"
            )
        if self.pad_token_id >= self.vocab_size:
            raise InputError(f"pad_token_id {self.pad_token_id} lies outside vocab_size {self.vocab_size}")

    @classmethod
    def from_size(cls, name: str, **overrides: Any) -> "BertConfig":
        """A published size (tiny, mini, small, medium, base, large), with any field overridden."""
        if name not in SIZES:
            raise InputError(f"size {name!r} is unknown; known: {', '.join(SIZES)}")
        layers, hidden, heads = SIZES[name]
        sizes = dict(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads)
        return cls.from_dict(sizes | dict(intermediate_size=4 * hidden) | overrides)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> "BertConfig":
        """The config.json of a folder, a bundled model or a hub id."""
        return cls.from_file(locate(name) / "config.json")

    @classmethod
    def from_file(cls, path: Path) -> "BertConfig":
        """Read one config.json; InputError names the file."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{path.parent}: no checkpoint, config.json is missing") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as JSON ({error})") from error
        if not isinstance(values, dict):
            raise InputError(f"{path}: not a JSON object")
        try:
            return cls.from_dict(values)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "BertConfig":
        """From the fields of a config.json.

        Fields that cannot change the computation are ignored; any other that bertlab does not know, or
        that asks for another computation, is an InputError naming it.
        """
        own = {field.name for field in dataclasses.fields(cls)}
        for name, value in values.items():
            if name in FIXED and value != FIXED[name]:
                raise InputError(f"{name} is {value!r}; bertlab's BERT has {FIXED[name]!r} only")
            if name not in own and name not in FIXED and name not in IGNORED:
                raise InputError(f"field {name!r} is unknown and might change the computation")
        return cls(**{name: value for name, value in values.items() if name in own})

    def to_dict(self) -> dict[str, Any]:
        """The fields of config.json, with model_type."""
        return {"model_type": "bert"} | dataclasses.asdict(self)


def _check_value(name: str, kind: type, value: Any) -> None:
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or isinstance(value, bool):
        raise InputError(f"{name} must be {kind.__name__}, not {value!r}")
    if kind is int and value < (0 if name == "pad_token_id" else 1):
        raise InputError(f"{name} must be positive, not {value}")
    if name.endswith("dropout_prob") and not 0 <= value < 1:
        raise InputError(f"{name} must be at least 0 and below 1, not {value}")
    if name in ("initializer_range", "layer_norm_eps") and not 0 < value < float("inf"):
        raise InputError(f"{name} must be positive, not {value}")
