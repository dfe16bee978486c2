"""The configuration of a BERT: field names and defaults of the published config.json."""

import dataclasses
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bertlab.config_fields import (
    CROSS_ENCODER,
    FIXED,
    GENERATION,
    HEAD,
    HEAD_FIELDS,
    LAYER_MIXES,
    OWN,
    PLAIN,
    POOLINGS,
    POSITIONS,
    TOKEN_DECODERS,
    UNUSED_FIELDS,
    VARIANT,
    VARIANT_CLASS,
    VARIANTS,
)
from bertlab.errors import InputError, brief
from bertlab.io.files import present
from bertlab.io.json_files import read_json
from bertlab.io.locate import is_adapter, locate
from bertlab.label_names import MOST_LABELS, label_names

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

IGNORED = -100  # label of a position that the loss leaves out

ACTIVATIONS = ("gelu", "gelu_new", "relu")
PROBLEMS = ("regression", "single_label_classification", "multi_label_classification")

# Upper limits: far above every published BERT, and low enough to refuse a mistyped or damaged file before anything is
# built. A CRF learns num_labels squared transitions.
MOST = {
    "vocab_size": 10_000_000,
    "hidden_size": 65_536,
    "num_hidden_layers": 1_024,
    "num_attention_heads": 4_096,
    "intermediate_size": 1_048_576,
    "max_position_embeddings": 1_048_576,
    "type_vocab_size": 65_536,
    "pad_token_id": 10_000_000,
    "num_labels": MOST_LABELS,
    "initializer_range": 1_000.0,
    "layer_norm_eps": 1.0,
    "no_answer_threshold": 1e30,
}
MOST_CRF_LABELS = 1_000

LEAST_LAYERS = {"second-to-last": 2, "sum-last-4": 4, "concat-last-4": 4}


@dataclass(frozen=True)
class BertConfig:
    """Shape and training constants of a BERT; the defaults are bert-base-uncased.

    `is_decoder`: a token sees itself and what stands to its left (Devlin et al. 2019, section 5.1, "LTR").
    `num_labels` to `classifier_dropout` are for the classifiers: the number of labels and their names (default
    LABEL_0, ...), the loss (see BertForSequenceClassification) and the dropout before the classifier (default: that of
    the hidden states).
    `pooling` to `no_answer_threshold` are bertlab's own, and their defaults are the published BERT: the vector that
    stands for a text (BertForSequenceClassification), the layers that a classifier reads (LayerMix), the decoder of
    word labels (BertForTokenClassification), and how far the best answer's logits must exceed those of "no answer".
    The last four make another encoder than BERT's, as later papers did: see bertlab.model.encoder. Their config.json
    has another model_type.

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
    is_decoder: bool = False
    num_labels: int = None  # type: ignore[assignment]  # None: as many as id2label names, or 2
    id2label: dict[int, str] = dataclasses.field(default=None, hash=False)  # type: ignore[arg-type]  # None: LABEL_0, ...
    problem_type: str | None = None
    classifier_dropout: float | None = None
    pooling: str = "cls"
    layer_mix: str = "last"
    token_decoder: str = "linear"
    no_answer_threshold: float = 0.0
    position_embedding_type: str = "absolute"
    pre_norm: bool = False
    gated_feed_forward: bool = False
    shared_layers: bool = False

    def __post_init__(self) -> None:
        self._settle_labels()
        for field in dataclasses.fields(self):
            if isinstance(field.type, type) and field.type in (int, float, str, bool):
                _check_value(field.name, field.type, getattr(self, field.name))
        if self.classifier_dropout is not None:
            _check_value("classifier_dropout", float, self.classifier_dropout)
        _check_choice("hidden_act", self.hidden_act, ACTIVATIONS)
        _check_choice("problem_type", self.problem_type, (None, *PROBLEMS))
        if self.problem_type == "single_label_classification" and self.num_labels == 1:
            raise InputError(f"problem_type {self.problem_type!r} needs 2 labels or more, num_labels is 1")
        _check_choice("pooling", self.pooling, POOLINGS)
        _check_choice("layer_mix", self.layer_mix, LAYER_MIXES)
        _check_choice("token_decoder", self.token_decoder, TOKEN_DECODERS)
        _check_choice("position_embedding_type", self.position_embedding_type, POSITIONS)
        if (layers := self.num_hidden_layers) < (least := LEAST_LAYERS.get(self.layer_mix, 1)):
            raise InputError(f"layer_mix {self.layer_mix!r} needs {least} layers, num_hidden_layers is {layers}")
        if self.token_decoder == "crf" and self.num_labels > MOST_CRF_LABELS:
            raise InputError(f"num_labels must be at most {MOST_CRF_LABELS:,} for token_decoder crf")
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}"
            )
        if self.position_embedding_type == "rotary" and self.hidden_size // self.num_attention_heads % 2:
            size = f"hidden_size / num_attention_heads = {self.hidden_size // self.num_attention_heads}"
            raise InputError(f"position_embedding_type rotary turns pairs of numbers: {size} must be even")
        if self.pad_token_id >= self.vocab_size:
            raise InputError(f"pad_token_id {self.pad_token_id} lies outside vocab_size {self.vocab_size}")

    def _settle_labels(self) -> None:
        """Set num_labels and id2label from each other; JSON has made the numbers of id2label strings."""
        count: int | None = self.num_labels
        names: dict[int, str] | None = self.id2label
        if names is not None:
            names = label_names(names)
            if count is not None and count != len(names):
                raise InputError(f"num_labels is {count}, but id2label names {len(names)} labels")
        elif count is not None:
            _check_value("num_labels", int, count)
        count = len(names) if names else count or 2
        object.__setattr__(self, "num_labels", count)
        object.__setattr__(self, "id2label", names or {number: f"LABEL_{number}" for number in range(count)})

    @property
    def label2id(self) -> dict[str, int]:
        """Label name -> number."""
        return {name: number for number, name in self.id2label.items()}

    @property
    def variants(self) -> list[str]:
        """The fields that make another encoder than BERT's; none in a plain BERT."""
        return [name for name in VARIANTS if getattr(self, name) != getattr(type(self), name)]

    def head_variants(self, architecture: str) -> list[str]:
        """The fields that make the head of a published class another than that of the same class in transformers."""
        return [name for name, other in HEAD_FIELDS.get(architecture, {}).items() if getattr(self, name) in other]

    @property
    def stored_layers(self) -> int:
        """How many layers have weights of their own."""
        return 1 if self.shared_layers else self.num_hidden_layers

    @classmethod
    def from_size(cls, name: str, **overrides: Any) -> "BertConfig":
        """Return a published size (tiny, mini, small, medium, base, large), with any field overridden."""
        if name not in SIZES:
            raise InputError(f"size {name!r} is unknown; known: {', '.join(SIZES)}")
        layers, hidden, heads = SIZES[name]
        sizes = dict(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads)
        return cls.from_dict(sizes | dict(intermediate_size=4 * hidden) | overrides)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> "BertConfig":
        """Read the config.json of a folder, a bundled model or a hub id."""
        return cls.from_file(locate(name) / "config.json")

    @classmethod
    def from_file(cls, path: Path) -> "BertConfig":
        """Read one config.json; InputError names the file."""
        values = _read(path)
        try:
            return cls.from_dict(values)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "BertConfig":
        """Make a config from the fields of a config.json.

        Fields that cannot change the computation are ignored. InputError names a field that bertlab does not know, or
        that asks for another computation.
        """
        _check_kind(values)
        own = {field.name for field in dataclasses.fields(cls)}
        for name, value in values.items():
            if name in FIXED and value != FIXED[name]:
                raise InputError(f"{name} is {brief(value)}; bertlab's BERT has {FIXED[name]!r} only")
            if name not in own | FIXED.keys() | UNUSED_FIELDS | GENERATION:
                raise InputError(f"field {brief(name)} is unknown and might change the computation")
        fields = _without_quirks({name: value for name, value in values.items() if name in own | {"label2id"}})
        if values.get("model_type") == VARIANT and "hidden_act" in fields:
            fields["hidden_act"] = str(fields["hidden_act"]).removeprefix(f"{VARIANT}:")
        config = cls(**fields)
        variants = [*config.variants, *chain.from_iterable(map(config.head_variants, _class_names(values)[:1]))]
        if values.get("model_type") == PLAIN and variants:
            raise InputError(f"{variants[0]} is no part of a BERT: the model_type must be {VARIANT!r}")
        return config

    def changed(self, **changes: Any) -> "BertConfig":
        """Return a copy with some fields changed; label names that do not fit num_labels are dropped."""
        for name in changes:
            if name not in vars(self):
                raise InputError(f"{name!r} is no field of BertConfig; there are: {', '.join(vars(self))}")
        values = vars(self) | changes
        if "id2label" not in changes and values["num_labels"] != self.num_labels:
            values["id2label"] = None
        elif "num_labels" not in changes:
            values["num_labels"] = None
        return type(self)(**values)

    def to_dict(self, architecture: str = "") -> dict[str, Any]:
        """Return the fields of config.json: with model_type, and without num_labels, which follows from id2label.

        With `architecture`, the name of a class, also with `architectures`, and without the fields of other heads.
        """
        fields = dataclasses.asdict(self) | {"label2id": self.label2id}
        del fields["num_labels"]
        others = {*HEAD} - {*HEAD_FIELDS.get(architecture, ())} if architecture else set()
        for name in OWN:
            if name in others or fields[name] == getattr(type(self), name):
                del fields[name]
        variant = bool(self.variants or self.head_variants(architecture))
        if variant:
            fields["hidden_act"] = f"{VARIANT}:{self.hidden_act}"
            architecture = architecture.replace("Bert", VARIANT_CLASS, 1)
        if architecture:
            fields["architectures"] = [architecture]
        return {"model_type": VARIANT if variant else PLAIN} | fields


def classes_of(folder: Path) -> list[str]:
    """Return the names of the classes in config.json's `architectures`; [] where it gives none.

    InputError: it is the config of another model than BERT.
    """
    values = _read(path := folder / "config.json")
    try:
        _check_kind(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return [name.replace(VARIANT_CLASS, "Bert", 1) for name in _class_names(values)]


def cross_encoder_fields(folder: Path) -> dict[str, Any]:
    """Return those fields of config.json that sentence-transformers writes for a cross-encoder."""
    values = _read(folder / "config.json")
    return {name: values[name] for name in CROSS_ENCODER if name in values}


def _read(path: Path) -> dict[str, Any]:
    if present(path):
        return read_json(path)
    if not is_adapter(path.parent):
        raise InputError(f"{path.parent}: no checkpoint, config.json is missing")
    from bertlab.io.adapter_config import adapted_config

    return adapted_config(path.parent)


def _class_names(values: dict[str, Any]) -> list[str]:
    named = values.get("architectures")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def _check_kind(values: dict[str, Any]) -> None:
    """Refuse another model by its name; the first BERT files have no model_type, but maybe a class."""
    kind, classes = values.get("model_type"), _class_names(values)
    if kind is None and classes and not classes[0].startswith("Bert"):
        kind = classes[0]
    if kind not in (PLAIN, VARIANT, None):
        raise InputError(f"model_type is {brief(kind)}, not BERT; bertlab opens models of type 'bert' only")


def _without_quirks(fields: dict[str, Any]) -> dict[str, Any]:
    """Drop a pad_token_id of null, and the id2label that old releases left as it was when they changed num_labels.
    Where label2id stands alone, its names are those of id2label."""
    names, count = fields.get("id2label"), fields.get("num_labels")
    numbers: Any = fields.get("label2id")
    given = [*numbers.values()] if names is None and isinstance(numbers, dict) else []
    if given and all(type(number) is int for number in given) and sorted(given) == [*range(len(given))]:
        names = {number: name for name, number in numbers.items()}
        fields = fields | {"id2label": names}
    stale = isinstance(names, dict) and count not in (None, len(names))
    left_out = {"id2label": stale, "label2id": True, "pad_token_id": fields.get("pad_token_id", 0) is None}
    return {name: value for name, value in fields.items() if not left_out.get(name)}


def _check_choice(name: str, value: Any, known: tuple) -> None:
    if value not in known:
        raise InputError(f"{name} {brief(value)} is unknown; known: {', '.join(map(str, known))}")


def _check_value(name: str, kind: type, value: Any) -> None:
    accepted: Any = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or isinstance(value, bool) != (kind is bool):
        raise InputError(f"{name} must be {kind.__name__}, not {brief(value)}")
    if kind is int and value < (0 if name == "pad_token_id" else 1):
        raise InputError(f"{name} must be positive, not {brief(value)}")
    if "dropout" in name and not 0 <= value < 1:
        raise InputError(f"{name} must be at least 0 and below 1, not {brief(value)}")
    if name in ("initializer_range", "layer_norm_eps") and not value > 0:
        raise InputError(f"{name} must be positive, not {brief(value)}")
    _check_most(name, value)


def _check_most(name: str, value: float) -> None:
    if name in MOST and not abs(value) <= MOST[name]:
        raise InputError(f"{name} must be at most {MOST[name]:,}, not {brief(value)}")
