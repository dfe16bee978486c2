"""Which checker each part of my_bert.py has to pass, and on which parts of the file it is called.

A part without a checker of its own passes that of the part which it belongs to.
"""

from collections.abc import Callable

from bertlab.course.chapters import KEPT
from bertlab.course.checks.part_two.crf import check_crf, check_log_partition, check_path_score, check_viterbi
from bertlab.course.checks.part_two.labels import (
    check_align,
    check_crf_tagger,
    check_entities,
    check_may_follow,
    check_tagging,
    check_token_classifier,
)

CHECKS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "entities": (check_entities, ("entities",)),
    "align": (check_align, ("align",)),
    "word_inputs": (check_tagging, ("word_inputs", "tag")),
    "first_pieces": (check_token_classifier, ("BertForTokenClassification",)),
    "BertForTokenClassification": (check_token_classifier, ("BertForTokenClassification",)),
    "tag": (check_tagging, ("word_inputs", "tag")),
    "may_follow": (check_may_follow, ("may_follow",)),
    "path_score": (check_path_score, ("path_score",)),
    "log_partition": (check_log_partition, ("log_partition",)),
    "viterbi": (check_viterbi, ("viterbi",)),
    "CRF": (check_crf, ("CRF",)),
    "BertWithCRF": (check_crf_tagger, ("BertWithCRF",)),
}
for part, exercise in KEPT.items():
    CHECKS[part] = (exercise, tuple(reference.__name__ for reference in exercise.references))
