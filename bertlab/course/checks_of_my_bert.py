"""Which check belongs to which part of my_bert.py."""

from collections.abc import Callable

from bertlab import course

CHECKS: dict[str, Callable[..., None]] = {
    "cut_word": course.check_cut_word,
    "MultiHeadAttention": course.check_multi_head_attention,
    "Layer": course.check_layer,
    "Bert": course.check_bert_model,
    "MaskedLMHead": course.check_mlm_head,
    "BertForPreTraining": course.check_pretraining_model,
    "mask_tokens": course.check_mask_tokens,
    "cut_pair": course.check_cut_pair,
    "make_pairs": course.check_make_pairs,
    "joint_loss": course.check_joint_loss,
    "rate_share": course.check_rate_factor,
    "adamw_step": course.check_adamw_step,
}
