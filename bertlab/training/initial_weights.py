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
    elif recipe.learns == "all":
        model.untaught = ()
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


@torch.no_grad()
def longer(model: BertForPreTraining, positions: int) -> BertForPreTraining:
    """Return the model with so many positions; the new ones are a guess, which a training can start from."""
    trained = model.bert.embeddings.position.weight
    if positions <= len(trained) or model.config.position_embedding_type == "rotary":
        return model
    grown = BertForPreTraining(model.config.changed(max_position_embeddings=positions))
    name = "bert.embeddings.position.weight"
    grown.load_state_dict(model.state_dict() | {name: torch.cat([trained, continued(trained, positions)])})
    grown.untaught = model.untaught
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
