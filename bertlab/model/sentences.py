"""One vector for a text, so that texts of like meaning have like vectors (Reimers and Gurevych 2019, Sentence-BERT).

The files of sentence-transformers beside a model say how it makes its vector. Whatever in them asks for another
computation is refused: a vector without one of its steps looks like any other.

Shapes: B texts, S tokens, H hidden size.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch
import torch.nn.functional as F
from tokenizers.normalizers import Lowercase
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError, brief
from bertlab.io.files import file_below, present, read_text
from bertlab.io.json_files import parse_json, read_json
from bertlab.model.base import PretrainedModel
from bertlab.model.encoder import BertModel
from bertlab.model.heads import EncoderOptions, without_padding
from bertlab.model.pooling import Pooling, mean_over_tokens

SCALE = 20.0  # of the cosines; Reimers and Gurevych's library has the same
FORMAT = "sentence_transformers.models"
MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}  # what it runs, each from its folder
POOLING_FIELDS = {"pooling_mode", "word_embedding_dimension", "embedding_dimension", "include_prompt"}
KINDS: tuple[Pooling, ...] = ("cls", "mean", "max")
ENCODERS = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])  # the modules, in their order
TRANSFORMER = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json")
# What may stand in that file beside max_seq_length and do_lower_case: the last states of a text's tokens.
LAST_STATES = {
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
}
WHOLE_TEXT = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}  # of a Normalize
LENGTHS = range(3, 1_000_000)  # tokens; a text between [CLS] and [SEP] takes three, and 1e30 stands for no limit


@dataclass
class SentenceOutput:
    """What BertForSentenceEmbedding computes."""

    embeddings: Tensor  # (B, H), of length 1; (B, 2, H) for pairs
    loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H); (2B, S, H) for pairs
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S); (2B, A, S, S) for pairs


class BertForSentenceEmbedding(PretrainedModel):
    """One vector of length 1 for each text: the mean over its tokens, [CLS] and [SEP] included.

    Inputs as in BertModel, (B, S); or (B, 2, S), pairs of texts that mean the same, each encoded alone (a siamese
    network). labels (B,) with pairs ask for the loss: 1 where the pair is to be learned from, -100 where not, though
    its second text is still a negative of the others. Gives a SentenceOutput. A saved folder opens in
    sentence-transformers too, which then reads `max_length` tokens of a text, or as many as there are positions.
    """

    max_length: int | None = None

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.bert = BertModel(config, add_pooler=False)
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **options: Unpack[EncoderOptions],
    ) -> SentenceOutput:
        pairs = input_ids.dim() == 3
        if (pairs and input_ids.size(1) != 2) or (labels is not None and not pairs):
            raise InputError(f"input_ids must be (batch, 2, tokens) to learn from, not {tuple(input_ids.shape)}")
        inputs = (input_ids, attention_mask, token_type_ids)
        if pairs:  # (B, 2, S) -flatten-> (2B, S)
            inputs = tuple(None if x is None else x.flatten(0, 1) for x in inputs)  # type: ignore[assignment]
        out = self.bert(*inputs, **without_padding(options, labels, attention_mask))
        vectors = F.normalize(mean_over_tokens(out.last_hidden_state, inputs[1]).float(), dim=-1)  # (B or 2B, H)
        if pairs:
            vectors = vectors.view(-1, 2, vectors.size(-1))  # (2B, H) -> (B, 2, H)
        loss = None if labels is None else in_batch_loss(vectors, labels, right_texts(input_ids, labels))
        return SentenceOutput(vectors, loss, out.hidden_states, out.attentions)

    def write_more(self, folder: Path) -> None:
        """Write what sentence-transformers reads beside config and weights."""
        kinds = {f"pooling_mode_{kind}": kind == "mean_tokens" for kind in ("cls_token", "mean_tokens", "max_tokens")}
        files = {
            "modules.json": [
                {"idx": number, "name": str(number), "path": path, "type": f"{FORMAT}.{name}"}
                for number, (name, path) in enumerate(MODULES.items())
            ],
            "sentence_bert_config.json": {
                "max_seq_length": self.max_length or self.config.max_position_embeddings,
                "do_lower_case": False,  # the tokenizer does what there is to do
            },
            "1_Pooling/config.json": {"word_embedding_dimension": self.config.hidden_size, **kinds},
        }
        (folder / "1_Pooling").mkdir()
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content, indent=2) + "\n")


def in_batch_loss(vectors: Tensor, labels: Tensor | None = None, right: Tensor | None = None) -> Tensor:
    """Return the cross-entropy of finding each text's partner among all second texts of the batch (Henderson et al.
    2017), by SCALE times the cosine; in both directions would be another loss.

    vectors (B, 2, H) of length 1; labels (B,): -100 where nothing is to be found; right (B, B) bool: second texts that
    are right for a first one, of which only its partner counts.
    """
    first, second = vectors.unbind(1)  # (B, 2, H) -> 2 x (B, H)
    logits = SCALE * first @ second.T  # (B, H) @ (H, B) -> (B, B)
    partners = torch.arange(len(logits), device=logits.device)
    if right is not None:
        others = right & ~torch.eye(len(logits), dtype=torch.bool, device=logits.device)
        logits = logits.masked_fill(others, float("-inf"))
    if labels is not None:
        partners = partners.masked_fill(labels == IGNORED, IGNORED)
        if labels.device.type == "cpu" and bool((labels == IGNORED).all()):
            return logits.sum() * 0
    return F.cross_entropy(logits, partners, ignore_index=IGNORED)


def right_texts(input_ids: Tensor, labels: Tensor) -> Tensor:
    """Return which second texts (columns) are right for each first text (rows) of pairs (B, 2, S), as (B, B) bool:
    the first text itself, and those that equal the partner of an equal first text. labels (B,): -100 where a pair is
    not right."""
    first, second = input_ids.unbind(1)  # (B, 2, S) -> 2 x (B, S)
    partners = same_texts(first, first) & (labels != IGNORED)  # (B, B) & (B,): of row i the pairs j with its first text
    right = partners.float() @ same_texts(second, second).float() > 0  # (B, B) @ (B, B) -> (B, B)
    return right | same_texts(first, second)


def same_texts(ids: Tensor, others: Tensor) -> Tensor:
    """Return which of the rows (B, S) equal which of the others (B, S): (B, B) bool."""
    return (ids[:, None] == others[None]).all(-1)


class OwnPooling(NamedTuple):
    """How a sentence encoder makes its vector (H,) of the last states of all tokens, [CLS] and [SEP] included.

    `unit`: the vector is then scaled to length 1. `lower`: the text is lower-cased first, also where the tokenizer
    keeps capitals. `max_length`: tokens of a text that are read; None: as many as the model has positions.
    `similarity`: what orders texts as the model was trained to: "cosine", "dot" or another name in its files.
    """

    kind: Pooling
    unit: bool
    lower: bool = False
    max_length: int | None = None
    similarity: str = "cosine"


def lowered(text: str) -> str:
    """Return the text in small letters, as sentence-transformers makes them."""
    return Lowercase().normalize_str(text)


def own_pooling(folder: Path) -> OwnPooling | None:
    """Return what the files of sentence-transformers beside a model say; None where there are none.

    Raises InputError for damaged files, and for a step that OwnPooling has not, such as a further layer.
    """
    home = folder if present(folder / "modules.json") else folder.parent  # early releases keep the BERT in 0_BERT
    path = home / "modules.json"
    if not present(path):
        return None
    modules = _modules(path)
    folders = [file_below(home, module.get("path"), path) for module in modules]
    if folder not in folders[:1]:
        if home != folder:  # the list of other models
            return None
        raise InputError(f"{path}: the first module, the Transformer, does not lie in this folder")
    if (kinds := [_kind(module) for module in modules]) not in ENCODERS:
        known = "Transformer, Pooling and, if at all, Normalize"
        raise InputError(f"{path}: modules {brief(', '.join(kinds))}; vectors are made by {known}, in this order")
    _check_whole(whole := home / "config_sentence_transformers.json")
    if unit := len(folders) > 2:
        _check_fields(folders[2] / "config.json", WHOLE_TEXT)
    lower, length = _reading(folder)
    return OwnPooling(_pooling(folders[1] / "config.json"), unit, lower, length, _similarity(whole, unit))


def _modules(path: Path) -> list[dict[str, Any]]:
    modules = parse_json(read_text(path), path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise InputError(f"{path}: no list of modules")
    return modules


def _kind(module: dict[str, Any]) -> str:
    """Return the class of a module; of the library's own, without the packages that it lies in."""
    kind = str(module.get("type"))
    name = kind.rpartition(".")[2] if kind.startswith("sentence_transformers.") else kind
    return "Transformer" if name == "BERT" else name  # as the first releases called it


def _pooling(path: Path) -> Pooling:
    """Return the pooling of a config: "pooling_mode" of release 6, before it a flag for each kind."""
    config = read_json(path)
    flags = {name: on for name, on in config.items() if name.startswith("pooling_mode_")}
    for name, on in flags.items():
        if not isinstance(on, bool):
            raise InputError(f"{path}: {name} must be true or false, not {brief(on)}")
    _check_fields(path, {name: config[name] for name in config.keys() & (POOLING_FIELDS | flags.keys())}, config)
    # "cls_token", "mean_tokens"; the mean where none is on
    named = [re.sub("_tokens?$", "", name.removeprefix("pooling_mode_")) for name, on in flags.items() if on]
    chosen = config.get("pooling_mode", named or ["mean"])
    chosen = chosen if isinstance(chosen, list) else [chosen]
    if len(chosen) != 1 or chosen[0] not in KINDS:
        shown = brief(", ".join(map(str, chosen)))
        raise InputError(f"{path}: pooling {shown}; known are {', '.join(KINDS)}, one at a time")
    return chosen[0]


def _reading(folder: Path) -> tuple[bool, int | None]:
    """Return whether texts are lower-cased, and how many tokens of them are read."""
    paths, tokenizer = [folder / name for name in TRANSFORMER], folder / "tokenizer_config.json"
    path = next(filter(present, paths), paths[0])
    config = read_json(path) if present(path) else {}
    lower, length = config.pop("do_lower_case", None) or False, config.pop("max_seq_length", None)
    if not isinstance(lower, bool):
        raise InputError(f"{path}: do_lower_case must be true or false, not {brief(lower)}")
    config.pop("unpad_inputs", None)  # how fast it is
    _check_fields(path, LAST_STATES, config)
    if length is None and present(tokenizer):  # where release 6 keeps it
        path, length = tokenizer, read_json(tokenizer).get("model_max_length")
    if length is None:
        return lower, None
    if isinstance(length, bool) or not isinstance(length, int | float) or not length >= LENGTHS.start:
        raise InputError(f"{path}: the most tokens of a text must be {LENGTHS.start} or more, not {brief(length)}")
    return lower, int(length) if length < LENGTHS.stop else None


def _similarity(path: Path, unit: bool) -> str:
    """Return similarity_fn_name; of vectors of length 1 the dot product and the distance order as the cosine does."""
    named = read_json(path).get("similarity_fn_name") if present(path) else None
    return "cosine" if named is None or (unit and named in ("dot", "euclidean")) else str(named)


def _check_fields(path: Path, known: dict[str, Any], config: dict[str, Any] | None = None) -> None:
    """Raise an InputError for a field of a module's config that has a value, unless it is the known one."""
    if config is None:
        config = read_json(path) if present(path) else {}
    for name, value in config.items():
        if value not in (None, {}) and value != known.get(name):
            raise InputError(f"{path}: {brief(name)} is {brief(value)}, which might change the vectors")


def _check_whole(path: Path) -> None:
    """Raise an InputError for a model that is no encoder of texts, for vectors that are cut, and for a text that
    sentence-transformers puts before each text unasked."""
    config = read_json(path) if present(path) else {}
    known = {"model_type": "SentenceTransformer", "truncate_dim": None}
    _check_fields(path, known, {name: config.get(name) for name in known})
    prompts, name = config.get("prompts"), config.get("default_prompt_name")
    if name is not None and (not isinstance(prompts, dict) or prompts.get(str(name)) != ""):
        raise InputError(f"{path}: default_prompt_name is {brief(name)}; bertlab puts no prompt before a text")
