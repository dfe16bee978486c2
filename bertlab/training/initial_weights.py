"""The weights that pretraining starts from: random ones, with help for small models, or those of a trained model."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from bertlab.errors import InputError
from bertlab.inputs.store import FlatText, TokenStore
from bertlab.io.locate import locate
from bertlab.model import BertForPreTraining
from bertlab.model.base import open_weights
from bertlab.model.encoder import Encoder, NoPositions
from bertlab.model.heads import MaskedLMHead
from bertlab.model.parameter_names import TABLE
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents
from bertlab.training.recipes import PretrainRecipe

COUNTED_DOCUMENTS = 6000  # of a token store, evenly spread: enough for the frequency of words


def new_model(
    recipe: PretrainRecipe,
    tokenizer: Tokenizer,
    documents: Documents = (),
    opened: BertForPreTraining | None = None,
) -> BertForPreTraining:
    """Return a model with random weights, or with those of the trained model that the recipe goes on from.

    They depend on the seed and that model alone, not on what ran before; a masked-word head that it lacks also depends
    on `documents` of token ids. `opened` is that model, if `trained_model` has opened it already.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        model = opened or (trained_model(recipe, tokenizer) if recipe.model else random_model(recipe, tokenizer))
    if "mlm" in model.untrained:
        start_masked_head(model.mlm, word_counts(documents, model.config.vocab_size))
    if recipe.second_task == "none":
        leave_untrained(model)
    elif recipe.learns == "all":
        model.untrained = ()
    if recipe.learns == "positions":
        model.requires_grad_(False)
        model.bert.embeddings.position.requires_grad_(True)
    return model


@torch.no_grad()
def random_model(recipe: PretrainRecipe, tokenizer: Tokenizer) -> BertForPreTraining:
    """Return a model with random weights.

    Where no second text teaches the second token type, it begins as the first one's twin: drawn at random, it would
    make the second text of every later pair look like no text that the encoder has seen.
    """
    model = BertForPreTraining(recipe.config(tokenizer.vocab_size))
    structured_initialisation(model.bert.encoder, model.bert.embeddings.position, recipe)
    if recipe.second_task == "none":
        token_type = model.bert.embeddings.segment.weight
        token_type[1:] = token_type[0]
    return model


def trained_model(recipe: PretrainRecipe, tokenizer: Tokenizer) -> BertForPreTraining:
    """Return the model that the recipe goes on from, with as many positions as its texts need.

    Heads that the checkpoint lacks are in `untrained`; `new_model` starts the one for masked words, the others are
    drawn from the seed. InputError: the model has another vocabulary than the text, or only a part of the head for
    masked words, or where positions alone learn no head for what they are to learn by.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        whole = recipe.learns == "positions" or has_masked_head(recipe.model)
        optional = ("pooler", "nsp") if whole else ("pooler", "nsp", "mlm")
        advice = "pretraining goes on from a model that fills in masked words"
        model = BertForPreTraining.trained(recipe.model, optional=optional, advice=advice)
    if recipe.learns == "positions" and recipe.second_task != "none" and model.untrained:
        raise InputError(f"learns=positions: {recipe.model} has no trained head for pairs: --set second_task=none")
    if Tokenizer.from_pretrained(recipe.model).vocab != tokenizer.vocab:
        raise InputError(
            f"model {recipe.model} has another vocabulary than the text: its word pieces are what it knows, "
            f"so make the token store with bertlab data tokenize --model {recipe.model}"
        )
    return longer(model, recipe.max_position_embeddings)


def has_masked_head(name: str) -> bool:
    """Return whether a checkpoint (a bundled name, a folder or a hub id) holds any part of a head for masked words."""
    parts = tuple(theirs for ours, names in TABLE.items() if ours.startswith("mlm.") for theirs in names)
    return any(tensor.startswith(parts) for tensor in open_weights(locate(name, weights=True)))


@torch.no_grad()
def start_masked_head(head: MaskedLMHead, counts: Tensor) -> None:
    """Give a new head for masked words weights to start from, beside an encoder that is trained already.

    The dense layer is the identity and the LayerNorm as it begins, so the decoder, which is the word embeddings,
    compares the states themselves with the words. Its bias is the log-probability of each word by its `counts` (V,) in
    the text, with add-one smoothing, so that only what differs from word frequency is left to learn.
    """
    head.dense.weight.copy_(torch.eye(*head.dense.weight.shape))
    head.dense.bias.zero_()
    head.norm.weight.fill_(1.0)
    head.norm.bias.zero_()
    head.decoder.bias.copy_((counts + 1).log() - (counts + 1).sum().log())


def word_counts(documents: Documents, vocab_size: int) -> Tensor:
    """Return how often each token occurs in documents of token ids, or in a sample of a token store: (V,)."""
    if isinstance(documents, TokenStore):
        text = documents.sample(COUNTED_DOCUMENTS).flat_text()
    else:
        text = FlatText.of(documents)
    return torch.from_numpy(np.bincount(text.tokens, minlength=vocab_size)).float()


def new_parts(recipe: PretrainRecipe, model: BertForPreTraining) -> str:
    """Return in words which heads of the trained model start anew in this run, and from what; "" if none does."""
    found = []
    if "mlm" in model.untrained:
        found.append("no masked-word head: it starts as the identity, its bias from the word frequencies of the text")
    if "nsp" in model.untrained and recipe.second_task != "none":
        found.append("no next-sentence head: it starts from random weights")
    return f"{recipe.model} has {'; and '.join(found)}" if found else ""


@torch.no_grad()
def longer(model: BertForPreTraining, positions: int) -> BertForPreTraining:
    """Return the model with so many positions; the new ones are a guess, which a training can start from."""
    if positions <= model.config.max_position_embeddings:
        return model
    grown, weights = BertForPreTraining(model.config.changed(max_position_embeddings=positions)), model.state_dict()
    name = "bert.embeddings.position.weight"
    if name in weights:  # rotary positions have no table
        weights[name] = torch.cat([weights[name], continued(weights[name], positions)])
    grown.load_state_dict(weights)
    grown.untrained = model.untrained
    return grown


def continued(trained: Tensor, positions: int, strength: float = 0.1) -> Tensor:
    """Return embeddings (positions - P, H) that go on where those of P trained positions (P, H) end.

    Sines and a constant are fitted to the trained ones (ridge regression of that strength) and followed further. The
    first and the last two, of [CLS] and of a text's end, are not like their neighbours and left out.
    """
    sines = torch.empty(positions, trained.size(1))
    start_from_sinusoids(sines)
    features = torch.cat([sines, torch.full((positions, 1), 0.3)], dim=1)  # (positions, H + 1)
    usual = slice(2, len(trained) - 2)
    x, y = features[usual], (trained - sines[: len(trained)])[usual]
    weights = torch.linalg.solve(x.T @ x + strength * torch.eye(x.size(1)), x.T @ y)  # (H + 1, H)
    return (sines + features @ weights)[len(trained) :]


def leave_untrained(model: BertForPreTraining) -> None:
    """Freeze what texts without a second one do not teach; several processes would wait for their gradients.

    Pooler and next-sentence head do not fit the encoder after this training, and are not saved.
    """
    for unused in filter(None, (model.bert.pooler, model.nsp, model.bert.embeddings.segment)):
        unused.requires_grad_(False)
    model.untrained = ("pooler", "nsp")


def structured_initialisation(encoder: Encoder, position: nn.Embedding | NoPositions, recipe: PretrainRecipe) -> None:
    """Change the random weights of an encoder and of its position embeddings as the recipe asks."""
    if recipe.attention_init == "matched":
        layers = encoder.layers
        for layer in layers[: len(layers) // 2]:
            match_queries_and_keys(layer.attention.qkv.weight)  # type: ignore[union-attr,arg-type]  # a ModuleList
    if recipe.position_init == "sinusoid":
        start_from_sinusoids(position.weight)


@torch.no_grad()
def match_queries_and_keys(qkv: Tensor, noise: float = 0.02) -> None:
    """Give queries and keys (both H x H, the first two thirds of the rows of qkv) nearly the same weights.

    Then q . k is largest for two tokens that are alike: a head begins by finding the same word again, or a nearby
    position (Trockman and Kolter 2023, "Mimetic initialization of self-attention layers"). Only the lower half of the
    layers starts so: the upper layers must read the whole text from the beginning for next-sentence prediction.
    """
    width = qkv.size(1)
    queries = torch.randn(width, width) * width**-0.5  # (H, H)
    qkv[:width] = queries
    qkv[width : 2 * width] = queries + torch.randn(width, width) * noise


@torch.no_grad()
def start_from_sinusoids(positions: Tensor, size: float = 0.1) -> None:
    """Fill the position embeddings (P, H) with sines (Vaswani et al. 2017, section 3.5) of root mean square `size`.

    They stay learned parameters, but neighbours now begin alike, and a head finds "the token before me" sooner.
    """
    count, width = positions.shape
    position = torch.arange(count)[:, None]  # (P, 1)
    frequency = torch.exp(-math.log(1000.0) * torch.arange(0, width, 2) / width)  # (H / 2,)
    positions[:, 0::2] = torch.sin(position * frequency) * size * 2**0.5
    positions[:, 1::2] = torch.cos(position * frequency[: width // 2]) * size * 2**0.5
