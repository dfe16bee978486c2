"""What a model of bertlab answers to the examples of the live page, in the form of the page's own engine."""

import base64

import torch
from torch import Tensor

from bertlab import BertForMaskedLM, Tokenizer
from bertlab.explain.words.lens import layer_log_probabilities

AFTER = '.,!?;:"”’)'  # stays where a word is swapped: as in live/js/sentence.js
KNOWN, SHOWN = 200, 3  # guesses kept of an answer, and of each layer: as in live/js/model.js


def stored_answers(name: str, model: BertForMaskedLM, examples: list[dict]) -> dict:
    """Return the answers of a bundled model to the text of each example, and to it with one word swapped.

    `model` is that one with the weights that the page loads.
    """
    tokenizer = Tokenizer.from_pretrained(name)
    answers = {text: answer(model, tokenizer, text) for example in examples for text in texts(example)}
    config = model.config
    shape = {"layers": config.num_hidden_layers, "heads": config.num_attention_heads, "guessing": True}
    return {"model": name, "shape": shape, "answers": answers}


def texts(example: dict) -> list[str]:
    """Return the text of an example, and the text with one word swapped if it has a swap."""
    words = example["text"].split(" ")
    if swap := example.get("swap"):
        old = words[swap["word"]]
        words[swap["word"]] = swap["to"] + old[len(old.rstrip(AFTER)) :]
    return list(dict.fromkeys([example["text"], " ".join(words)]))


@torch.inference_mode()
def answer(model: BertForMaskedLM, tokenizer: Tokenizer, text: str) -> dict:
    """Return the tokens, guesses, guesses after each layer, and attentions (a byte for each weight) of one text."""
    batch = tokenizer([text])
    ids = batch["input_ids"][0].tolist()
    attentions = model(**batch, output_attentions=True).attentions  # L x (1, A, S, S)
    masked = [position for position, token in enumerate(ids) if token == tokenizer.mask_token_id]
    fills = []
    for position in masked:
        layers = layer_log_probabilities(model, tokenizer, batch, position).exp()  # (L+1, V)
        guesses = [likeliest(tokenizer, layer, SHOWN) for layer in layers]
        fills.append({"position": position, "known": likeliest(tokenizer, layers[-1], KNOWN), "layers": guesses})
    heads = [pack(head) for layer in attentions for head in layer[0]]  # L * A x (S, S)
    return {"tokens": tokenizer.convert_ids_to_tokens(ids), "cut": False, "attentions": heads, "fills": fills}


def likeliest(tokenizer: Tokenizer, probabilities: Tensor, count: int) -> list[list]:
    best = probabilities.topk(min(count, len(probabilities)))
    tokens = tokenizer.convert_ids_to_tokens(best.indices.tolist())
    return [[token, round(p, 7)] for token, p in zip(tokens, best.values.tolist(), strict=True)]


def pack(head: Tensor) -> str:
    """Return attention weights (S, S) as bytes in base64."""
    return base64.b64encode((head * 255).round().byte().numpy().tobytes()).decode()
