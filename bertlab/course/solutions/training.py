"""My BERT, chapter 08: AdamW, the schedule and the loop, and a model as a Hugging Face folder."""

import json
import random
from dataclasses import asdict
from pathlib import Path

import torch

from bertlab.course.solutions.config import SPECIAL
from bertlab.course.solutions.pretraining import collate, cut_pair, joint_loss, make_pairs, mask_tokens, true_pairs

# %% training (chapter 08): Loshchilov and Hutter 2019; Devlin et al., appendix A.2


def rate_share(progress, warmup):
    """Which share of the top learning rate is used at `progress` 0..1: up over the warmup, then down to 0."""
    return progress / warmup if progress < warmup else (1 - progress) / (1 - warmup)


def adamw_step(weight, grad, m, v, step, rate, betas, eps, decay):
    """Four tensors of one shape, step 1, 2, ... -> weight, m, v after this step."""
    m = m.lerp(grad, 1 - betas[0])  # betas[0] * m + (1 - betas[0]) * grad, but memory is passed once
    v = v.lerp(grad**2, 1 - betas[1])
    scale = (v / (1 - betas[1] ** step)).sqrt() + eps
    kept = (1 - rate * decay) * weight
    return kept.addcdiv(m, scale, value=-rate / (1 - betas[0] ** step)), m, v  # kept - rate * corrected m / scale


class AdamW:
    """Adam with decoupled weight decay, which biases and LayerNorm are spared."""

    def __init__(self, model, betas=(0.9, 0.999), eps=1e-6, decay=0.01):
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]
        self.betas, self.eps, self.decay, self.steps = betas, eps, decay, 0

    @torch.no_grad()
    def step(self, rate):
        self.steps += 1
        for number, (weight, (m, v)) in enumerate(zip(self.parameters, self.state, strict=True)):
            if weight.grad is None:
                continue
            decay = self.decay if weight.ndim > 1 else 0.0
            new, m, v = adamw_step(weight, weight.grad, m, v, self.steps, rate, self.betas, self.eps, decay)
            weight.copy_(new)
            self.state[number] = (m, v)

    def zero_grad(self):
        for weight in self.parameters:
            weight.grad = None


def train_step(model, optimizer, batch, rate, clip=1.0):
    """One step at learning rate `rate` -> the loss (float). batch: input_ids, attention_mask, token_type_ids, labels
    (B, S), next_sentence_label (B,)."""
    logits = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
    loss = joint_loss(*logits, batch["labels"], batch["next_sentence_label"])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
    optimizer.step(rate)
    optimizer.zero_grad()
    return loss.item()


def batches(documents, tokenizer, size=32, max_tokens=64, rate=0.15, seed=0):
    """Yield batches without end: each round over the documents (of ids) makes new pairs and new masks."""
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    special_ids = torch.tensor([tokenizer.vocabulary[token] for token in SPECIAL])
    while True:
        positives = true_pairs(documents, max_tokens - 3, rng)
        if len(positives) < size or len({document for document, *_ in positives}) < 2:
            raise ValueError(f"{len(positives)} pairs of {len(documents)} documents: too little text")
        pairs = [(*cut_pair(*pair, max_tokens - 3), label) for *pair, label in make_pairs(positives, rng)]
        for start in range(0, len(pairs) - size + 1, size):
            batch = collate(pairs[start : start + size], tokenizer)
            special = torch.isin(batch["input_ids"], special_ids)
            batch["input_ids"], batch["labels"] = mask_tokens(batch["input_ids"], special, tokenizer, generator, rate)
            yield batch


def pretrain(model, batches, steps, rate=1e-3, warmup=0.1, on_step=None):
    """Train for `steps` steps on an iterable of batches; `on_step(step, loss)` is called after each."""
    optimizer = AdamW(model.train())
    for step, batch in zip(range(steps), batches, strict=False):
        share = rate_share((step + 0.5) / steps, warmup)
        loss = train_step(model, optimizer, batch, rate * share)
        if on_step:
            on_step(step, loss)
    return model.eval()


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
