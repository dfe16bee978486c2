"""What the chapters need and nothing else does: exercise checkers, panels to play with, live plots, the ladder."""

from bertlab.course.checks.base import Mistake
from bertlab.course.checks.context import (
    check_may_look,
    check_negative_sampling,
    check_neighbours,
    check_probes,
    check_text_score,
)
from bertlab.course.checks.masking import check_mask_tokens, check_mlm_loss, check_whole_words
from bertlab.course.checks.tour import check_pair_inputs
from bertlab.training.ladder import Rung, ladder

__all__ = [
    "Mistake",
    "Rung",
    "check_mask_tokens",
    "check_may_look",
    "check_mlm_loss",
    "check_negative_sampling",
    "check_neighbours",
    "check_pair_inputs",
    "check_probes",
    "check_text_score",
    "check_whole_words",
    "ladder",
]
