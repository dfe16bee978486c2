"""The names of parameters: ours, and the published ones under which a checkpoint holds them.

A bertlab checkpoint is a Hugging Face BERT folder: config.json, the weights under the published parameter names, and
the tokenizer's files. TABLE is the one place with both our names and theirs.
"""

import re

from bertlab.errors import InputError

# Our module -> the published module(s); * is a layer's number. Parameters are called weight and bias in
# both. Several published modules are stacked, in this order, as the rows of one of ours. The last four are
# bertlab's own, under names that no other BERT uses.
TABLE = {
    "embeddings.word": ["embeddings.word_embeddings"],
    "embeddings.position": ["embeddings.position_embeddings"],
    "embeddings.segment": ["embeddings.token_type_embeddings"],
    "embeddings.norm": ["embeddings.LayerNorm"],
    "encoder.layers.*.attention.qkv": [
        "encoder.layer.*.attention.self.query",
        "encoder.layer.*.attention.self.key",
        "encoder.layer.*.attention.self.value",
    ],
    "encoder.layers.*.attention.out": ["encoder.layer.*.attention.output.dense"],
    "encoder.layers.*.attention_norm": ["encoder.layer.*.attention.output.LayerNorm"],
    "encoder.layers.*.feed_forward.up": ["encoder.layer.*.intermediate.dense"],
    "encoder.layers.*.feed_forward.down": ["encoder.layer.*.output.dense"],
    "encoder.layers.*.feed_forward_norm": ["encoder.layer.*.output.LayerNorm"],
    "pooler.dense": ["pooler.dense"],
    "mlm.dense": ["cls.predictions.transform.dense"],
    "mlm.norm": ["cls.predictions.transform.LayerNorm"],
    "mlm.decoder": ["cls.predictions"],  # the bias alone: its weight is embeddings.word
    "nsp": ["cls.seq_relationship"],
    "span": ["qa_outputs"],
    "classifier": ["classifier"],
    "encoder.norm": ["encoder.final_norm"],
    "mix": ["layer_mix"],
    "convolution": ["word_convolution"],
    "crf": ["crf"],
}
PARTS = {  # what our modules are called in words
    "embeddings": "embeddings",
    "encoder": "final LayerNorm",
    "pooler": "pooler",
    "mlm": "masked-word head",
    "nsp": "next-sentence head",
    "span": "span head",
    "classifier": "classifier",
    "mix": "layer mix",
    "convolution": "word convolution",
    "crf": "CRF",
}
PUBLISHED = frozenset(theirs for names in TABLE.values() for theirs in names)
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
TIED = "mlm.decoder.weight"
ENCODER = ("embeddings.", "encoder.")  # what a checkpoint cannot lack
WORDS, DECODER = "embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"  # one matrix: tied weights
# DataParallel, torch.compile, FullyShardedDataParallel, checkpoint_wrapper
WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def published_names(name: str) -> list[str]:
    """Return the published name(s) of our parameter, without the prefix "bert."; none if it is tied."""
    name = name.removeprefix("bert.")
    if name == TIED:
        return []
    module, leaf = name.rsplit(".", 1)
    number = re.search(r"\.(\d+)\.", module)
    key = module if number is None else module.replace(number[0], ".*.")
    layer = "" if number is None else number[1]
    if key not in TABLE:
        raise InputError(f"{module}: a module of this name has no published name; add it to TABLE in {__name__}")
    return [f"{theirs.replace('*', layer)}.{leaf}" for theirs in TABLE[key]]


def is_published(name: str) -> bool:
    """Return whether a modern published name is that of a parameter in TABLE, of any layer, or of a buffer that older
    files hold: the numbers 0, 1, 2, ... of the positions, and segments that are all 0."""
    module, _, leaf = re.sub(r"\.\d+\.", ".*.", name, count=1).rpartition(".")
    return f"{module}.{leaf}" in BUFFERS or (leaf in ("weight", "bias") and module in PUBLISHED)


def modern_name(name: str) -> str:
    """Return the name that transformers writes today, without the prefix "bert.".

    Files converted from the original release call LayerNorm's parameters gamma and beta; some releases store
    the decoder's bias under the decoder; PyTorch's wrappers of a module add a name of their own.
    """
    name = ".".join(part for part in name.split(".") if part not in WRAPPERS)
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name.removeprefix("bert."))
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    return "cls.predictions.bias" if name == "cls.predictions.decoder.bias" else name
