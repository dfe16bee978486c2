"""The weights that pretraining starts from: random ones, with help for small models, or those of a trained model."""

import math

import torch
from torch import Tensor, nn

from bertlab.errors import InputError
from bertlab.model import BertForPreTraining
from bertlab.model.encoder import Encoder
from bertlab.tokenizer import Tokenizer
from bertlab.training.recipes import PretrainRecipe


def new_model(recipe: PretrainRecipe, tokenizer: Tokenizer) -> BertForPreTraining:
    """Return a model with random weights, or with those of the trained model that the recipe goes on from.

    They depend on the seed and that model alone, not on what ran before.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        model = trained_model(recipe, tokenizer) if recipe.model else random_model(recipe, tokenizer)
    if recipe.second_task == "none":
        leave_untaught(model)
    return model


@torch.no_grad()
def random_model(recipe: PretrainRecipe, tokenizer: Tokenizer) -> BertForPreTraining:
    """Return a model with random weights.

    Where no second text teaches the second token type, it begins as the first one's twin: drawn at random, it would
    make the second text of every later pair look like no text that the encoder has seen.
    """
    model = BertForPreTraining(recipe.config(tokenizer.vocab_size))
    help_off_the_ground(model.bert.encoder, model.bert.embeddings.position, recipe)
    if recipe.second_task == "none":
        token_type = model.bert.embeddings.segment.weight
        token_type[1:] = token_type[0]
    return model


def trained_model(recipe: PretrainRecipe, tokenizer: Tokenizer) -> BertForPreTraining:
    """Return the model that the recipe goes on from, with as many positions as its texts need.

    InputError: it has another vocabulary than the text, or no trained head for masked words.
    """
    advice = "pretraining goes on from a model that fills in masked words"
    model = BertForPreTraining.trained(recipe.model, optional=("pooler", "nsp"), advice=advice)
    if Tokenizer.from_pretrained(recipe.model).vocab != tokenizer.vocab:
        raise InputError(
            f"model {recipe.model} has another vocabulary than the text: its word pieces are what it knows, "
            f"so make the token store with --vocab {recipe.model}"
        )
    return longer(model, recipe.max_position_embeddings)


def longer(model: BertForPreTraining, positions: int) -> BertForPreTraining:
    """Return the model with so many positions: the trained ones over and over, as Longformer begins (Beltagy et al.
    2020, section 5), so that a token's neighbours are where the heads look for them."""
    had = model.config.max_position_embeddings
    if positions <= had or not isinstance(model.bert.embeddings.position, nn.Embedding):
        return model
    grown = BertForPreTraining(model.config.changed(max_position_embeddings=positions))
    weights = model.state_dict()
    name = "bert.embeddings.position.weight"
    weights[name] = weights[name].repeat(-(-positions // had), 1)[:positions]  # (P, H)
    grown.load_state_dict(weights)
    return grown


def leave_untaught(model: BertForPreTraining) -> None:
    """Freeze what texts without a second one do not teach; several processes would wait for their gradients.

    Pooler and next-sentence head do not fit the encoder after this training, and are not saved.
    """
    for unused in filter(None, (model.bert.pooler, model.nsp, model.bert.embeddings.segment)):
        unused.requires_grad_(False)
    model.untaught = ("pooler", "nsp")


def help_off_the_ground(encoder: Encoder, position: nn.Embedding, recipe: PretrainRecipe) -> None:
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
    positions[:, 1::2] = torch.cos(position * frequency) * size * 2**0.5
