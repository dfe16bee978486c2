"""What the chapters need and nothing else does: exercise checkers, panels to play with, live plots, baselines."""

from bertlab.course.checks.answers import (
    check_answer_positions,
    check_decide,
    check_normalise,
    check_question_answering,
)
from bertlab.course.checks.attention import check_attend, check_masked_weights, check_previous_head
from bertlab.course.checks.base import Mistake, own_or_solution
from bertlab.course.checks.bert import check_bert_model, check_count_parameters, check_initialise
from bertlab.course.checks.broken import check_diagnose, check_diagnosis
from bertlab.course.checks.classifier import check_classifier, check_epochs, check_inputs
from bertlab.course.checks.context import (
    check_may_look,
    check_negative_sampling,
    check_neighbours,
    check_probes,
    check_text_score,
)
from bertlab.course.checks.crf import (
    check_crf,
    check_log_partition,
    check_marginals,
    check_path_score,
    check_viterbi,
)
from bertlab.course.checks.embeddings import (
    check_embeddings,
    check_lookup,
    check_segment_ids,
    check_shift_matrix,
    check_sinusoids,
)
from bertlab.course.checks.encoder import check_gelu, check_layer, check_layer_norm
from bertlab.course.checks.finetuning import (
    check_expected_best,
    check_finetune,
    check_layer_shares,
    check_smooth_loss,
)
from bertlab.course.checks.heads import check_heads, check_multi_head_attention
from bertlab.course.checks.labels import (
    check_align,
    check_crf_tagger,
    check_entities,
    check_may_follow,
    check_tagging,
    check_token_classifier,
)
from bertlab.course.checks.masking import check_actions, check_mask_tokens, check_mlm_loss, check_whole_words
from bertlab.course.checks.pairs import check_batches, check_collate, check_cut_pair, check_make_pairs
from bertlab.course.checks.pretraining import check_joint_loss, check_mlm_head, check_pretraining_model
from bertlab.course.checks.probing import (
    check_control_labels,
    check_probe,
    check_pseudo_log_likelihood,
    check_removal_effects,
    check_removal_rank,
    check_scalar_mix,
)
from bertlab.course.checks.project import (
    check_interval,
    check_shared_runs,
    check_split,
    check_still_falling,
    check_unanswered,
    check_vocabulary_size,
)
from bertlab.course.checks.sentences import (
    check_choice_rows,
    check_fuse,
    check_hypothesis_only,
    check_in_batch_loss,
    check_mean_pool,
    check_multiple_choice,
    check_recall_at,
    check_sentence_encoder,
)
from bertlab.course.checks.spans import (
    check_answer_question,
    check_best_answer,
    check_most_context,
    check_offsets,
    check_question_rows,
)
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
    "check_inputs",
    "check_embeddings",
    "check_choice_rows",
    "check_classifier",
    "check_clean",
    "check_epochs",
    "check_expected_best",
    "check_finetune",
    "check_fuse",
    "check_hypothesis_only",
    "check_in_batch_loss",
    "check_mean_pool",
    "check_multiple_choice",
    "check_recall_at",
    "check_sentence_encoder",
    "check_collate",
    "check_control_labels",
    "check_batches",
    "check_adamw",
    "check_actions",
    "check_adamw_step",
    "check_align",
    "check_attend",
    "check_bert_model",
    "check_answer_positions",
    "check_answer_question",
    "check_best_answer",
    "check_decide",
    "check_most_context",
    "check_normalise",
    "check_offsets",
    "check_question_answering",
    "check_question_rows",
    "check_best_span",
    "check_count_parameters",
    "check_crf",
    "check_crf_tagger",
    "check_cut_pair",
    "check_cut_word",
    "check_diagnose",
    "check_diagnosis",
    "check_entities",
    "check_gelu",
    "check_heads",
    "check_joint_loss",
    "check_layer",
    "check_layer_norm",
    "check_layer_shares",
    "check_left_of_gap",
    "check_likelihood_gain",
    "check_likeliest",
    "check_log_partition",
    "check_lookup",
    "check_make_pairs",
    "check_marginals",
    "check_mask_tokens",
    "check_masked_weights",
    "check_may_follow",
    "check_may_look",
    "check_merge_pair",
    "check_mlm_head",
    "check_mlm_loss",
    "check_multi_head_attention",
    "check_negative_sampling",
    "check_neighbours",
    "check_pair_inputs",
    "check_path_score",
    "check_pretraining_model",
    "check_previous_head",
    "check_probes",
    "check_probe",
    "check_pseudo_log_likelihood",
    "check_removal_effects",
    "check_removal_rank",
    "check_scalar_mix",
    "check_rate_factor",
    "check_segment_ids",
    "check_shift_matrix",
    "check_sinusoids",
    "check_tagging",
    "check_smooth_loss",
    "check_text_score",
    "check_token_classifier",
    "check_train_step",
    "check_viterbi",
    "check_whole_words",
    "check_interval",
    "check_shared_runs",
    "check_split",
    "check_still_falling",
    "check_unanswered",
    "check_vocabulary_size",
    "load_matching",
    "masked_baselines",
    "own_or_solution",
]
