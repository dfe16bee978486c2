"""Draw the random weights that pretraining starts from, with what helps a small model off the ground."""

import math

import torch
from torch import Tensor, nn

from bertlab.model import BertForPreTraining
from bertlab.model.encoder import Encoder
from bertlab.tokenizer import Tokenizer
from bertlab.training.recipes import PretrainRecipe


def new_model(recipe: PretrainRecipe, tokenizer: Tokenizer) -> BertForPreTraining:
    """Return a model with random weights; they depend on the seed alone, not on what ran before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        model = BertForPreTraining(recipe.config(tokenizer.vocab_size))
        help_off_the_ground(model.bert.encoder, model.bert.embeddings.position, recipe)
    if recipe.second_task == "none":  # nothing teaches them, and several processes would wait for their gradients
        for unused in filter(None, (model.bert.pooler, model.nsp)):
            unused.requires_grad_(False)
        model.untaught = ("pooler", "nsp")
    return model


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
