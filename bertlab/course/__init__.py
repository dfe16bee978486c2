"""What the chapters need and nothing else does: exercise checkers, panels to play with, live plots, baselines."""

from bertlab.course.chapters import EXERCISES
from bertlab.course.checks.part_three.comparing import (
    check_holm,
    check_measure_by_seed,
    check_paired_bootstrap,
    check_paired_runs,
    check_paired_t,
    check_power,
    check_verdict,
)
from bertlab.course.checks.part_two.crf import (
    check_crf,
    check_log_partition,
    check_marginals,
    check_path_score,
    check_viterbi,
)
from bertlab.course.checks.part_two.labels import (
    check_align,
    check_crf_tagger,
    check_entities,
    check_may_follow,
    check_tagging,
    check_token_classifier,
)
from bertlab.course.exercise import own_or_solution
from bertlab.course.matching import Matching, load_matching
from bertlab.course.mistake import Mistake
from bertlab.evaluation.baselines import masked_baselines

globals().update(EXERCISES)

__all__ = [
    *EXERCISES,
    "Matching",
    "Mistake",
    "check_holm",
    "check_measure_by_seed",
    "check_align",
    "check_crf",
    "check_crf_tagger",
    "check_entities",
    "check_log_partition",
    "check_marginals",
    "check_may_follow",
    "check_paired_bootstrap",
    "check_paired_runs",
    "check_paired_t",
    "check_path_score",
    "check_power",
    "check_tagging",
    "check_token_classifier",
    "check_verdict",
    "check_viterbi",
    "load_matching",
    "masked_baselines",
    "own_or_solution",
]
