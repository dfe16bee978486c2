"""The fields of BertConfig that are bertlab's own: their values, the heads that read them, and what config.json then
says."""

# Each field with what it may be, the default first. config.json holds them only where they differ from it: a plain
# BERT's file is then the published one.
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
