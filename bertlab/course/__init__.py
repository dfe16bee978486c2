"""What the chapters need and nothing else does: exercise checkers, panels to play with, live plots, baselines."""

from bertlab.course.checks.attention import check_attend, check_masked_weights, check_previous_head
from bertlab.course.checks.base import Mistake, own_or_solution
from bertlab.course.checks.bert import check_bert_model, check_count_parameters, check_initialise
from bertlab.course.checks.broken import check_diagnose, check_diagnosis
from bertlab.course.checks.context import (
    check_may_look,
    check_negative_sampling,
    check_neighbours,
    check_probes,
    check_text_score,
)
from bertlab.course.checks.embeddings import (
    check_embeddings,
    check_lookup,
    check_segment_ids,
    check_shift_matrix,
    check_sinusoids,
)
from bertlab.course.checks.encoder import check_gelu, check_layer, check_layer_norm
from bertlab.course.checks.heads import check_heads, check_multi_head_attention
from bertlab.course.checks.masking import check_actions, check_mask_tokens, check_mlm_loss, check_whole_words
from bertlab.course.checks.pairs import check_batches, check_collate, check_cut_pair, check_make_pairs
from bertlab.course.checks.pretraining import check_joint_loss, check_mlm_head, check_pretraining_model
from bertlab.course.checks.tokens import (
    check_clean,
    check_cut_word,
    check_likelihood_gain,
    check_merge_pair,
    check_tokenizer,
)
from bertlab.course.checks.tour import check_best_span, check_left_of_gap, check_likeliest, check_pair_inputs
from bertlab.course.checks.training import check_adamw, check_adamw_step, check_rate_factor, check_train_step
from bertlab.course.matching import Matching, load_matching
from bertlab.evaluation.baselines import masked_baselines

__all__ = [
    "Matching",
    "Mistake",
    "check_tokenizer",
    "check_initialise",
    "check_embeddings",
    "check_clean",
    "check_collate",
    "check_batches",
    "check_adamw",
    "check_actions",
    "check_adamw_step",
    "check_attend",
    "check_bert_model",
    "check_best_span",
    "check_count_parameters",
    "check_cut_pair",
    "check_cut_word",
    "check_diagnose",
    "check_diagnosis",
    "check_gelu",
    "check_heads",
    "check_joint_loss",
    "check_layer",
    "check_layer_norm",
    "check_left_of_gap",
    "check_likelihood_gain",
    "check_likeliest",
    "check_lookup",
    "check_make_pairs",
    "check_mask_tokens",
    "check_masked_weights",
    "check_may_look",
    "check_merge_pair",
    "check_mlm_head",
    "check_mlm_loss",
    "check_multi_head_attention",
    "check_negative_sampling",
    "check_neighbours",
    "check_pair_inputs",
    "check_pretraining_model",
    "check_previous_head",
    "check_probes",
    "check_rate_factor",
    "check_segment_ids",
    "check_shift_matrix",
    "check_sinusoids",
    "check_text_score",
    "check_train_step",
    "check_whole_words",
    "load_matching",
    "masked_baselines",
    "own_or_solution",
]
