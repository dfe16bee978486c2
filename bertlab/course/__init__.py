"""What the chapters need and nothing else does: exercise checkers, panels to play with, live plots, the ladder."""

from bertlab.course.checks.base import Mistake
from bertlab.course.checks.embeddings import (
    check_lookup,
    check_segment_ids,
    check_shift_matrix,
    check_sinusoids,
)
from bertlab.course.checks.masking import check_mask_tokens, check_mlm_loss, check_whole_words
from bertlab.course.checks.tokens import (
    check_cut_word,
    check_likelihood_gain,
    check_merge_pair,
    check_strip_accents,
)
from bertlab.course.checks.tour import check_pair_inputs
from bertlab.training.ladder import Rung, ladder

__all__ = [
    "Mistake",
    "Rung",
    "check_cut_word",
    "check_likelihood_gain",
    "check_lookup",
    "check_mask_tokens",
    "check_merge_pair",
    "check_mlm_loss",
    "check_pair_inputs",
    "check_segment_ids",
    "check_shift_matrix",
    "check_sinusoids",
    "check_strip_accents",
    "check_whole_words",
    "ladder",
]
