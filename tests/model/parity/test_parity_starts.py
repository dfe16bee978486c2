"""A checkpoint of any head opens in transformers, whatever checkpoint its encoder came from; a head that transformers
does not have is refused there."""

import warnings

import pytest
import torch

import bertlab
from bertlab import BertConfig
from bertlab.config import HEAD_FIELDS

transformers = pytest.importorskip("transformers")

HEADS = [
    "BertModel",
    "BertForPreTraining",
    "BertForMaskedLM",
    "BertForNextSentencePrediction",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
    "BertForMultipleChoice",
    "BertForSentenceEmbedding",
]
LABELS = {"id2label": {0: "bad", 1: "so-so", 2: "good"}}
STARTS = {
    **{name: (name, {}) for name in HEADS},
    "one number": ("BertForSequenceClassification", {"num_labels": 1, "problem_type": "regression"}),
    "three labels": ("BertForSequenceClassification", LABELS),
    "labels of words": ("BertForTokenClassification", LABELS),
    "mean pooling": ("BertForSequenceClassification", {"pooling": "mean"}),
    "layers mixed": ("BertForTokenClassification", {"layer_mix": "second-to-last"}),
    "a CRF": ("BertForTokenClassification", {"token_decoder": "crf"} | LABELS),
    "a convolution": ("BertForTokenClassification", {"token_decoder": "cnn"}),
    "a threshold": ("BertForQuestionAnswering", {"no_answer_threshold": 1.5}),
}
PUBLISHED = {"pooling": "cls", "layer_mix": "last", "token_decoder": "linear"}


def pairs() -> list[tuple[str, str]]:
    """Every start with its own head and with one that shares its labels or pooler or has neither; every head from the
    bare encoder and from pretraining."""
    others = {"BertForPreTraining", "BertForSequenceClassification", "BertForTokenClassification"}
    every = {"BertModel", "BertForPreTraining"}
    return [(s, h) for s in STARTS for h in HEADS if s in every or h in others or h == STARTS[s][0]]


@pytest.mark.parametrize(("start", "head"), pairs())
def test_any_head_from_any_start(start, head, config, batch, tmp_path):
    kind, fields = STARTS[start]
    with warnings.catch_warnings(action="ignore"):  # of a head that transformers does not have
        getattr(bertlab, kind)(config.changed(**fields)).save_pretrained(tmp_path / "start")
    if {kind, head} <= HEAD_FIELDS.keys() and kind != head:  # classifiers of one name: only the encoder is taken
        with warnings.catch_warnings(action="ignore"):  # of a new pooler
            bertlab.BertModel.from_pretrained(tmp_path / "start").save_pretrained(tmp_path / "start")
    with warnings.catch_warnings(action="ignore"):  # of a new head
        ours = getattr(bertlab, head).from_pretrained(tmp_path / "start", **PUBLISHED)
    ours.save_pretrained(tmp_path / "end")
    published = "BertModel" if head == "BertForSentenceEmbedding" else head
    theirs, report = getattr(transformers, published).from_pretrained(tmp_path / "end", output_loading_info=True)
    assert {name for name in report["missing_keys"] if "pooler" not in name} == set()
    assert not report["mismatched_keys"] and not report["unexpected_keys"]
    inputs = {name: tensor[:, None].repeat(1, 2, 1) if "Choice" in head else tensor for name, tensor in batch.items()}
    with torch.no_grad():
        one, other = ours(**inputs), theirs.eval()(**inputs)
    for name in vars(one):
        if name.endswith("logits") or name == "last_hidden_state":
            torch.testing.assert_close(getattr(one, name), other[name], rtol=1e-4, atol=1e-4)


OTHER = {"pooling": "mean", "layer_mix": "sum-last-4", "token_decoder": "cnn"}


@pytest.mark.parametrize(("head", "field"), [(head, field) for head, fields in HEAD_FIELDS.items() for field in fields])
def test_a_head_that_transformers_lacks_is_refused_there(head, field, config, batch, tmp_path):
    """With the published class it would be opened, and answer at chance."""
    config = config.changed(num_hidden_layers=4, **{field: OTHER[field]})
    ours = getattr(bertlab, head)(config).eval()
    with pytest.warns(UserWarning, match=f"transformers has no head with {field}=.*; bertlab opens it"):
        ours.save_pretrained(tmp_path)
    for name in (head, f"Auto{head.replace('Bert', 'Model')}"):
        with pytest.raises((KeyError, ValueError), match="bert-variant"):
            getattr(transformers, name).from_pretrained(tmp_path)
    assert BertConfig.from_pretrained(tmp_path) == config
    again = getattr(bertlab, head).from_pretrained(tmp_path)
    inputs = {name: tensor[:, None].repeat(1, 2, 1) if "Choice" in head else tensor for name, tensor in batch.items()}
    if field == "token_decoder":
        inputs["word_mask"] = batch["attention_mask"].bool()
    torch.testing.assert_close(again(**inputs).logits, ours(**inputs).logits)
