"""The fields of config.json: those that are bertlab's own, with their values and the heads that read them, and those of
published files that BertConfig does not have."""

# bertlab's own, each with what it may be, the default first. config.json holds them only where they differ from it: a
# plain BERT's file is then the published one.
POOLINGS = ("cls", "mean")
LAYER_MIXES = ("last", "second-to-last", "sum-last-4", "concat-last-4", "scalar-mix")
TOKEN_DECODERS = ("linear", "cnn", "crf")
POSITIONS = ("absolute", "rotary")
# What later papers changed in the encoder: see bertlab.model.encoder.
VARIANTS = ("position_embedding_type", "pre_norm", "gated_feed_forward", "shared_layers")
HEAD = ("pooling", "layer_mix", "token_decoder")
OWN = (*HEAD, "no_answer_threshold", *VARIANTS)

# The classes whose head reads a field of HEAD, and the values with which its logits are other than those of the same
# class of transformers, which knows no such field. A CRF chooses labels by the published logits.
_Others = dict[str, tuple[str, ...]]
_MIXES: _Others = {"layer_mix": LAYER_MIXES[1:]}
_TEXTS: _Others = {"pooling": ("mean",), **_MIXES}
HEAD_FIELDS: dict[str, _Others] = {
    "BertForSequenceClassification": _TEXTS,
    "BertForMultipleChoice": _TEXTS,
    "BertForTokenClassification": {"token_decoder": ("cnn",), **_MIXES},
}

# What config.json says of a BERT with a variant in its encoder or head, so that nobody takes it for a plain one: its
# model_type and the name of its class. The name before hidden_act stops those who do not read the model_type:
# transformers' BertModel warns of it and would go on, with the wrong computation.
PLAIN, VARIANT, VARIANT_CLASS = "bert", "bert-variant", "BertVariant"

# Fields of config.json that would make another model than bertlab.model, and the one value at which they do not.
FIXED = {
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "pruned_heads": {},
    "cell": {},  # this and the next: of architecture search, empty in the configs of TinyBERT
    "structure": [],
}

# Fields that published config.json files carry and that leave the computation of these models as it is. (The weights
# show whether the word embeddings are tied, and bertlab.model.weights refuses a head where they are not.)
UNUSED_FIELDS = frozenset(
    """
    _attn_implementation _commit_hash _name_or_path _num_labels architectures attn_implementation bos_token_id
    chunk_size_feed_forward cls_token_id cross_attention_hidden_size directionality dtype emb_size eos_token_id
    finetuning_task gradient_checkpointing label2id language mask_token_id model_max_length model_type name
    output_attentions output_hidden_states output_past pooler_fc_size pooler_num_attention_heads
    pooler_num_fc_layers pooler_size_per_head pooler_type pre_trained return_dict
    sbert_ce_default_activation_function sentence_transformers sep_token_id tie_encoder_decoder tie_word_embeddings
    tokenizer_class torch_dtype torchscript training transformers_version unk_token_id
    use_bfloat16 use_cache xla_device
    """.split()
)

# The fields in which sentence-transformers keeps the function that it applies to the logits of a cross-encoder; the
# newer one first.
CROSS_ENCODER = ("sentence_transformers", "sbert_ce_default_activation_function")

# Settings of text generation, which older releases wrote into every config.json: an encoder generates nothing.
GENERATION = frozenset(
    """
    bad_words_ids begin_suppress_tokens decoder_start_token_id diversity_penalty do_sample early_stopping
    encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id
    length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences
    output_scores prefix remove_invalid_values repetition_penalty return_dict_in_generate suppress_tokens
    task_specific_params temperature tf_legacy_loss top_k top_p typical_p
    """.split()
)
