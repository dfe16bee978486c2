"""Adapters in both directions: what bertlab saved answers alike in peft, what peft saved answers alike in bertlab.

peft's own class for questions leaves out token_type_ids, so the model with the changes in it is called.
"""

import warnings

import pytest
import torch

import bertlab
from bertlab import InputError
from bertlab.config import classes_of
from tests.model.parity.closeness import assert_close
from tests.model.test_lora import adapted, answer

transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft", reason="peft writes and reads the adapters that are compared here")

TASKS = {
    "BertForSequenceClassification": "SEQ_CLS",
    "BertForTokenClassification": "TOKEN_CLS",
    "BertForQuestionAnswering": "QUESTION_ANS",
    "BertForMaskedLM": None,
    "BertForMultipleChoice": None,
    "BertModel": "FEATURE_EXTRACTION",
}
LABELS = {name: {"num_labels": 3} for name in ("BertForSequenceClassification", "BertForTokenClassification")}


def theirs(name, base):
    """The class of transformers of this name over the folder `base`, its head new."""
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings(action="ignore"):
        return getattr(transformers, name).from_pretrained(base, **LABELS.get(name, {}))


def rows(name, batch):
    """The batch as the class takes it."""
    return {k: x[:, None].repeat(1, 2, 1) for k, x in batch.items()} if name == "BertForMultipleChoice" else batch


@pytest.mark.parametrize("name", TASKS)
def test_what_bertlab_saved_answers_alike_in_peft(name, checkpoint, batch, tmp_path):
    ours = adapted(getattr(bertlab, name), checkpoint, **LABELS.get(name, {}))
    ours.save_pretrained(tmp_path / "adapter")
    opened = peft.PeftModel.from_pretrained(theirs(name, checkpoint), tmp_path / "adapter").eval()
    batch = rows(name, batch)
    assert_close({name: (answer(ours, batch), answer(opened.get_base_model(), batch))}, torch.float32)


WHAT = {
    "query and value": dict(target_modules=["query", "value"], r=3, lora_alpha=5),
    "all dense layers": dict(target_modules=["query", "key", "value", "dense"], use_rslora=True),
    "all-linear": dict(target_modules="all-linear"),
    "one layer": dict(target_modules=["key"], layers_to_transform=[1], lora_dropout=0.2),
    "a pattern": dict(target_modules=r".*layer\.[02].*\.(query|output\.dense)", modules_to_save=["LayerNorm"]),
}


def saved_by_peft(name, base, folder, **options):
    """Train nothing, but save changes and a head that are far from their beginning; return the model."""
    task = TASKS[name] if name != "BertForMaskedLM" else None
    model = peft.get_peft_model(theirs(name, base), peft.LoraConfig(task_type=task, **options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("what", WHAT)
def test_what_peft_saved_answers_alike_in_bertlab(what, checkpoint, batch, tmp_path):
    name = "BertForSequenceClassification"
    model = saved_by_peft(name, checkpoint, tmp_path / "adapter", **WHAT[what])
    ours = bertlab.BertForSequenceClassification.from_pretrained(tmp_path / "adapter")
    assert ours.config.num_labels == 3
    assert_close({what: (answer(ours, batch), answer(model.get_base_model(), batch))}, torch.float32)


@pytest.mark.parametrize("name", TASKS)
def test_every_class_that_peft_saved_opens_without_a_config(name, checkpoint, batch, tmp_path):
    model = saved_by_peft(
        name,
        checkpoint,
        tmp_path / "adapter",
        target_modules=["query", "value"],
        modules_to_save=["classifier"] if name == "BertForMultipleChoice" else None,
    )
    assert classes_of(tmp_path / "adapter") == [name]
    ours = getattr(bertlab, name).from_pretrained(tmp_path / "adapter")
    batch = rows(name, batch)
    assert_close({name: (answer(ours, batch), answer(model.get_base_model(), batch))}, torch.float32)


def test_word_embeddings_that_peft_saved_are_untied_from_the_head(checkpoint, batch, tmp_path):
    """peft's decoder keeps the matrix of the base."""
    changes = dict(target_modules=["query"], modules_to_save=["word_embeddings"])
    with warnings.catch_warnings(action="ignore"):
        model = saved_by_peft("BertForMaskedLM", checkpoint, tmp_path / "adapter", **changes).get_base_model()
    with pytest.raises(InputError, match="adapter_model.safetensors: tensor cls.predictions.decoder.weight is not the"):
        bertlab.BertForMaskedLM.from_pretrained(tmp_path / "adapter")
    ours = bertlab.BertModel.from_pretrained(tmp_path / "adapter")
    found = ours(**batch).last_hidden_state, model.bert(**batch).last_hidden_state
    assert_close({"states": found}, torch.float32)
