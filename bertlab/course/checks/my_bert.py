"""Which checker each part of my_bert.py has to pass, and on which parts of the file it is called.

A part without a checker of its own passes that of the part which it belongs to.
"""

from collections.abc import Callable

from bertlab.course.checks.bert import check_bert_model, check_initialise
from bertlab.course.checks.embeddings import check_embeddings
from bertlab.course.checks.encoder import check_layer
from bertlab.course.checks.heads import check_heads, check_multi_head_attention
from bertlab.course.checks.masking import check_mask_tokens
from bertlab.course.checks.pairs import check_batches, check_collate, check_cut_pair, check_make_pairs
from bertlab.course.checks.pretraining import check_joint_loss, check_mlm_head, check_pretraining_model
from bertlab.course.checks.tokens import check_clean, check_cut_word, check_tokenizer
from bertlab.course.checks.training import check_adamw, check_adamw_step, check_rate_factor, check_train_step

CLEAN = (check_clean, ("clean",))
TOKENIZER = (check_tokenizer, ("Tokenizer",))
HEADS = (check_heads, ("split_heads", "merge_heads"))
BERT = (check_bert_model, ("Bert",))
PAIRS = (check_make_pairs, ("make_pairs",))

CHECKS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "clean_character": CLEAN,
    "clean": CLEAN,
    "is_mark": TOKENIZER,
    "split": TOKENIZER,
    "cut_word": (check_cut_word, ("cut_word",)),
    "Tokenizer": TOKENIZER,
    "Embeddings": (check_embeddings, ("Embeddings",)),
    "split_heads": HEADS,
    "merge_heads": HEADS,
    "MultiHeadAttention": (check_multi_head_attention, ("MultiHeadAttention",)),
    "FeedForward": (check_layer, ("Layer",)),
    "Layer": (check_layer, ("Layer",)),
    "Encoder": BERT,
    "Pooler": BERT,
    "Bert": BERT,
    "initialise": (check_initialise, ("initialise",)),
    "MaskedLMHead": (check_mlm_head, ("MaskedLMHead",)),
    "BertForPreTraining": (check_pretraining_model, ("BertForPreTraining",)),
    "choose": (check_mask_tokens, ("mask_tokens",)),
    "mask_tokens": (check_mask_tokens, ("mask_tokens",)),
    "true_pairs": (check_batches, ("batches",)),
    "cut_pair": (check_cut_pair, ("cut_pair",)),
    "make_pairs": PAIRS,
    "negative": PAIRS,
    "collate": (check_collate, ("collate",)),
    "joint_loss": (check_joint_loss, ("joint_loss",)),
    "rate_share": (check_rate_factor, ("rate_share",)),
    "adamw_step": (check_adamw_step, ("adamw_step",)),
    "AdamW": (check_adamw, ("AdamW",)),
    "train_step": (check_train_step, ("train_step",)),
    "batches": (check_batches, ("batches",)),
}
