"""Fine-tuning a pretrained encoder to answer questions (Devlin et al. 2019, section 4.2)."""

import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from bertlab.corpora import storyworld
from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.inputs.features import collate
from bertlab.inputs.spans import span_features, usual_stride
from bertlab.model import BertForQuestionAnswering
from bertlab.tokenizer import Tokenizer
from bertlab.training.flops import encoder_operations
from bertlab.training.loop import train
from bertlab.training.parts import WHOLE, Shares
from bertlab.training.processes import launch, make_fabric
from bertlab.training.recipes import FinetuneRecipe, as_record
from bertlab.training.run import Run, to_all


@dataclass
class Finetuned:
    """The result of a run: the model in eval mode, its tokenizer, the logged rows, the seconds it took in all."""

    model: BertForQuestionAnswering
    tokenizer: Tokenizer
    rows: list[dict[str, float]]
    seconds: float


def finetune_qa(
    recipe: FinetuneRecipe,
    examples: Sequence[QAExample] | None = None,
    *,
    out: str | Path | None = None,
    half: bool = False,
    log_every: int = 50,
    on_log: Callable[[dict[str, float]], None] | None = None,
    progress: bool = True,
    device: str = "auto",
) -> Finetuned:
    """Train a span head and its encoder on `examples`, or on questions about the storyworld."""
    started = time.perf_counter()
    tokenizer = Tokenizer.from_pretrained(recipe.model)
    model = start_model(recipe)
    fabric = make_fabric(device)
    run = Run(out, as_record(recipe)) if out and fabric.is_global_zero else None
    launch(fabric)
    if examples is None:
        examples = list(storyworld.questions(recipe.seed, recipe.examples))
    if not examples:
        raise InputError("there is no question to train on")

    rows = train(
        model,
        batches(examples, tokenizer, recipe),
        span_loss,
        steps=recipe.steps,
        settings=recipe.optim,
        operations=partial(encoder_operations, model.config),
        log=to_all(run and run.log, on_log),
        log_every=log_every,
        progress=progress,
        fabric=fabric,
        seed=recipe.seed,
    )
    if run:
        run.save(model, tokenizer, dtype=torch.float16 if half else None)
    return Finetuned(model, tokenizer, rows, time.perf_counter() - started)


def start_model(recipe: FinetuneRecipe) -> BertForQuestionAnswering:
    """The pretrained encoder with a new span head, drawn from the seed."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(recipe.seed)
        warnings.simplefilter("ignore")  # that the head is new is the point here
        model = BertForQuestionAnswering.from_pretrained(recipe.model)
    limit = model.config.max_position_embeddings
    if recipe.max_length > limit:
        raise InputError(f"max_length={recipe.max_length} is more than the {limit} positions of {recipe.model}")
    return model


def batches(examples: Sequence[QAExample], tokenizer: Tokenizer, recipe: FinetuneRecipe) -> Iterator[dict[str, Tensor]]:
    """Batches without end, reshuffled every epoch."""
    rng = random.Random(recipe.seed)
    features = span_features(examples, tokenizer, recipe.max_length, usual_stride(recipe.max_length))
    size = min(recipe.batch_size, len(features))
    while True:
        rng.shuffle(features)
        for first in range(0, len(features) - size + 1, size):
            yield collate(features[first : first + size], tokenizer)


def span_loss(model, batch: dict[str, Tensor], shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean of the losses of both ends, and how often both are right."""
    out = model(**batch)
    start_right = out.start_logits.argmax(-1) == batch["start_positions"]
    end_right = out.end_logits.argmax(-1) == batch["end_positions"]
    loss = shares["start_positions"] * out.loss
    return loss, {"span_loss": loss, "exact_span": shares["start_positions"] * (start_right & end_right).float().mean()}
