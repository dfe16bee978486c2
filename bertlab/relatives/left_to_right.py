"""A left-to-right (causal) language model like GPT (Radford et al. 2018): BERT's own encoder, but each token sees only
the tokens before it, and predicts the next one (Devlin et al. 2019, section 5.1, "LTR").

The encoder is bertlab.model's with config.is_decoder, the loss bertlab.training.pretrain.next_token_loss: size, text,
steps and optimizer are those of the BERT beside it. The functions here ask such a model for words and texts.

Shapes: N texts, S tokens, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.recipes import PretrainRecipe

BATCH = 64  # texts at a time


def left_to_right_recipe(recipe: PretrainRecipe) -> PretrainRecipe:
    """Return the same recipe, with each token predicted from the tokens before it alone."""
    return replace(recipe, name=f"{recipe.name}-left-to-right", objective="left-to-right", second_task="none")


@torch.inference_mode()
def next_log_probabilities(model: BertForPreTraining, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return ln p of every word as the next one after each of N texts: (N, V)."""
    refuse_both_sides(model)
    log_probabilities = []
    for first in range(0, len(texts), BATCH):
        batch = tokenizer(texts[first : first + BATCH])
        last = batch["attention_mask"].sum(1) - 2  # (N,): the last token before [SEP]
        logits = model(**batch).prediction_logits[torch.arange(len(last)), last]  # (N, S, V) -> (N, V)
        log_probabilities.append(logits.float().log_softmax(-1)[:, : tokenizer.vocab_size])
    return torch.cat(log_probabilities)


def gap_log_probabilities(model: BertForPreTraining, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return ln p of every word at the [MASK] of each of N texts, from the words to its left alone: (N, V).

    InputError names a text without [MASK], or with more than one.
    """
    for text in texts:
        if text.count(tokenizer.mask_token) != 1:
            raise InputError(f"write [MASK] in place of one word, once: {text}")
    return next_log_probabilities(model, tokenizer, [text.split(tokenizer.mask_token)[0] for text in texts])


@torch.inference_mode()
def text_log_probabilities(model: BertForPreTraining, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return ln p of each of N whole texts: by the chain rule, the sum of ln p(word | words before it): (N,).

    So a left-to-right model can use what comes after a gap: fill in each candidate, and compare the whole texts.
    """
    refuse_both_sides(model)
    totals = []
    for first in range(0, len(texts), BATCH):
        batch = tokenizer(texts[first : first + BATCH])
        following = batch["input_ids"][:, 1:]  # (N, S - 1)
        logs = model(**batch).prediction_logits[:, :-1].float().log_softmax(-1)  # (N, S - 1, V)
        each = logs.gather(2, following[..., None]).squeeze(-1)  # (N, S - 1)
        counted = ~tokenizer.special_mask(following) | (following == tokenizer.unk_token_id)
        totals.append(each.where(counted, 0.0).sum(1))
    return torch.cat(totals)


@torch.inference_mode()
def write(model: BertForPreTraining, tokenizer: Tokenizer, text: str, tokens: int, generator: torch.Generator) -> str:
    """Continue `text` by at most `tokens` tokens, as far as the model has positions. Each is drawn from the model's
    probabilities, special tokens excepted."""
    refuse_both_sides(model)
    ids = [tokenizer.cls_token_id, *tokenizer.encode_batch([text])[0]]
    for _ in range(min(tokens, model.config.max_position_embeddings - len(ids))):
        logits = model(torch.tensor([ids])).prediction_logits[0, -1].float()  # (1, S, V) -> (V,)
        logits[tokenizer.all_special_ids] = -torch.inf
        ids.append(int(logits.softmax(-1).multinomial(1, generator=generator)))
    return tokenizer.decode(ids[1:])


def refuse_both_sides(model: BertForPreTraining) -> None:
    """Raise InputError for a model that sees the words it is asked to predict."""
    if not model.config.is_decoder:
        raise InputError("this model sees both sides: only a left-to-right model can predict what comes next")
