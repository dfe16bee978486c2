"""My BERT, chapter 08: a model as a Hugging Face folder."""

import json
from dataclasses import asdict
from pathlib import Path

import torch

# %% saving (chapter 08): as a Hugging Face folder, so that everybody's tools open it

NAMES = {  # ours -> the published ones
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "encoder.layers": "encoder.layer",
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward_norm": "output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "pooler.dense": "pooler.dense",
    "mlm.dense": "cls.predictions.transform.dense",
    "mlm.norm": "cls.predictions.transform.LayerNorm",
    "mlm.decoder": "cls.predictions.decoder",
    "nsp": "cls.seq_relationship",
}  # the heads of part two have their published names already


def published(state):
    """Our weights by their published names; queries, keys and values apart."""
    result = {}
    for name, weight in state.items():
        for ours, theirs in NAMES.items():
            name = name.replace(f"{ours}.", f"{theirs}.") if f"{ours}." in f"{name}." else name
        if ".qkv." in name:
            for part, piece in zip(("query", "key", "value"), weight.chunk(3), strict=True):
                result[name.replace("qkv", f"self.{part}")] = piece.clone()
        else:
            result[name] = weight
    if "mlm.decoder.bias" in state:
        result["cls.predictions.bias"] = state["mlm.decoder.bias"]
    return result


def save(model, tokenizer, folder, labels=()):
    """Write config.json, pytorch_model.bin and vocab.txt; transformers.AutoModel opens the folder. `labels` are the
    names of a classifier's classes, in their order."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = asdict(model.config) | {"model_type": "bert", "architectures": [type(model).__name__]}
    if labels:
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(tokenizer.vocabulary) + "\n", encoding="utf-8")
    torch.save(published(model.state_dict()), folder / "pytorch_model.bin")
