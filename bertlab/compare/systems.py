"""What a table of comparisons is made of: systems, what papers claim of them, and a budget that all share."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bertlab.inputs.masking import Masking
from bertlab.relatives.kinds import find_relative
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.recipes import PretrainRecipe

RATE = Masking.PAPER.rate  # as in all tables of Devlin et al. 2019


@dataclass(frozen=True)
class System:
    """One row of a table: what is pretrained, on which share of the text and of the steps, and what tasks read of it.

    `layers`: see bertlab.relatives.kinds.head_on. `text`: "own" (the storyworld, or the user's), "pydoc" (as many words
    of docstrings), or "", and the weights stay random. `tasks`: of the table's, if not all. `teacher`: what it learns
    from beside the text (see bertlab.training.distill).
    """

    name: str
    relative: str = "bert"
    layers: str = "all"
    recipe: Mapping[str, Any] = field(default_factory=dict)
    text: str = "own"
    text_share: float = 1.0
    steps_share: float = 1.0
    batch_factor: int = 1
    tasks: tuple[str, ...] = ()
    teacher: "System | None" = None

    def pretraining(self, budget: "Budget", seed: int) -> PretrainRecipe:
        """Return the recipe of this system with that seed."""
        steps = max(1, round(self.steps_share * budget.recipe.steps))
        batch_size = self.batch_factor * budget.recipe.batch_size
        changes = {**find_relative(self.relative).recipe, **self.recipe, "batch_size": batch_size}
        if self.teacher:
            changes["teacher"] = self.teacher.name  # the experiment puts its folder here
        return replace(budget.recipe, **changes, steps=steps, seed=seed)


@dataclass(frozen=True)
class Claim:
    """A finding of a paper: `better` beats `worse` on the mean of the tasks that both have."""

    better: str
    worse: str
    source: str


@dataclass(frozen=True)
class Table:
    """Systems that differ in one thing, and what is claimed of them."""

    question: str
    tasks: tuple[str, ...]
    systems: tuple[System, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Budget:
    """What all systems of a table have alike. Of the `rates` the best on the dev examples is taken. `task`: one
    that stands in for all labelled ones."""

    recipe: PretrainRecipe
    finetune: FinetuneRecipe
    rates: tuple[float, ...]
    dev: int
    test: int
    task: str = ""


def budget(
    *,
    documents: int,
    steps: int,
    width: int,
    tokens: int,
    batch: int,
    tune: int,
    rates: tuple[float, ...],
    layers: int = 4,
    vocabulary: int = 3500,
    **sizes: Any,
) -> Budget:
    """Return a budget whose parts fit each other: `tune` steps of fine-tuning follow `steps` of pretraining."""
    recipe = PretrainRecipe(
        "compare",
        documents,
        vocab_size=vocabulary,
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=4,
        max_position_embeddings=128,
        masking=Masking(RATE),
        max_tokens=tokens,
        batch_size=batch,
        steps=steps,
    )
    tuning = FinetuneRecipe(batch_size=batch, examples=tune * batch, steps=tune, evaluate_every=tune, max_length=tokens)
    return Budget(recipe, tuning, rates, **sizes)
