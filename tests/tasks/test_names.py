"""Tasks by name, and the task that a checkpoint tells of itself."""

import json
import shutil
from contextlib import nullcontext

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForTokenClassification,
    InputError,
    Tokenizer,
)
from bertlab.search.vectors import TextEncoder
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.registry import TASKS, family_of, find_task, open_task, task_of
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask


def saved(head, pretrained, folder, recipe=None, **changes):
    with pytest.warns(UserWarning, match="newly initialised"):
        model = head.from_pretrained(pretrained, **changes)
    model.save_pretrained(folder, Tokenizer.from_pretrained(pretrained))
    if recipe is not None:
        (folder / "recipe.json").write_text(recipe if isinstance(recipe, str) else json.dumps(recipe))
    return folder


def test_names_of_the_storyworld_give_examples_of_their_family(tok):
    for name, entry in TASKS.items():
        assert find_task(name) is entry and entry.about
        task = entry.family(tok, 64)
        if entry.storyworld:
            (example,) = entry.storyworld(0, 1, "dev")
            task.head_fields([example, *entry.storyworld(1, 20, "train")])
            assert (getattr(example, "pair", None) is not None) == entry.pairs
    with pytest.raises(InputError, match="no task 'poetry': choose one of sentence, pair"):
        find_task("poetry")


@pytest.mark.parametrize(
    ("head", "family"), [(BertForTokenClassification, TokenTask), (BertForMultipleChoice, ChoiceTask)]
)
def test_a_checkpoint_opens_with_its_head(head, family, pretrained, tmp_path):
    folder = saved(head, pretrained, tmp_path / "run", {"task": "choice", "max_length": 50})
    assert family_of(folder) is family
    model, task = open_task(folder)
    assert isinstance(model, head) and not model.training and type(task) is family and task.max_length == 50


def test_stride_and_length_are_those_of_the_training(pretrained, tmp_path):
    shutil.copytree(pretrained, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text()) | {
        "architectures": ["BertForQuestionAnswering"]
    }
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"no trained span head \(qa_outputs.weight is missing\).*bertlab finetune"):
        open_task(tmp_path / "run")
    saved(BertForQuestionAnswering, pretrained, tmp_path / "run")
    _, plain = open_task(tmp_path / "run")
    assert (plain.max_length, plain.stride) == (256, 85)  # all positions, and a third of them
    (tmp_path / "run" / "recipe.json").write_text('{"task": "qa", "max_length": 90, "stride": 20}')
    _, task = open_task(tmp_path / "run")
    assert isinstance(task, SpanTask) and (task.max_length, task.stride) == (90, 20)


def test_a_published_model_reads_all_its_positions(tok, tmp_path):
    config = BertConfig(max_position_embeddings=512)
    lengths = [task_of(family, tmp_path, config, tok).max_length for family in (SequenceTask, TokenTask, SpanTask)]
    assert lengths == [512, 512, 384]


SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"
OLD = "sbert_ce_default_activation_function"


@pytest.mark.parametrize(
    ("fields", "labels", "refused"),
    [
        ({OLD: SIGMOID}, 1, True),
        ({"sentence_transformers": {"activation_fn": SIGMOID, "version": "5.1.0"}}, 1, True),
        ({"sentence_transformers": {"activation_fn": IDENTITY}, OLD: SIGMOID}, 1, False),
        ({OLD: IDENTITY, "sentence_transformers": None}, 1, False),
        ({OLD: SIGMOID}, 2, False),  # a class and its share of the softmax, as in transformers
    ],
)
def test_a_cross_encoder_whose_number_is_no_logit_is_refused(fields, labels, refused, tok, tmp_path):
    config = BertConfig(num_labels=labels)
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict() | fields))
    with pytest.raises(InputError, match="config.json: .* asks for .*Sigmoid") if refused else nullcontext():
        task_of(SequenceTask, tmp_path, config, tok)


def test_the_head_of_another_model_is_none_of_ours(tmp_path):
    fields = {"model_type": "distilbert", "architectures": ["DistilBertForSequenceClassification"]}
    (tmp_path / "config.json").write_text(json.dumps(fields))
    for opens in (family_of, open_task, TextEncoder.open):
        with pytest.raises(InputError, match="config.json: model_type is 'distilbert', not BERT"):
            opens(tmp_path)


def test_what_a_run_has_learned(pretrained, tmp_path):
    run = saved(BertForMultipleChoice, pretrained, tmp_path / "a", {"task": "choice"})
    assert open_task(run)[1].learned is TASKS["choice"]
    for task in ("poetry", ["choice"]):
        assert open_task(saved(BertForMultipleChoice, pretrained, tmp_path / "b", {"task": task}))[1].learned is None
    for text in ("{", "[]"):
        folder = saved(BertForMultipleChoice, pretrained, tmp_path / "c", text)
        with pytest.raises(InputError, match="recipe.json"):
            open_task(folder)


def test_a_model_without_a_head(pretrained):
    assert family_of(pretrained) is None and BertForPreTraining.from_pretrained(pretrained)
    with pytest.raises(InputError, match="has no head for a task: fine-tune it first"):
        open_task(pretrained)
    assert family_of("storyworld-tiny-qa") is SpanTask and SequenceTask is TASKS["pair"].family


def test_a_gpu_is_taken_where_there_is_one(monkeypatch):
    def opened_on(found):
        monkeypatch.setattr("torch.accelerator.current_accelerator", lambda check_available: found)
        return open_task("storyworld-tiny-qa", "auto")[0].span.weight.device.type

    assert opened_on(None) == "cpu" and opened_on(torch.device("meta")) == "meta"
    assert next(open_task("storyworld-tiny-qa")[0].parameters()).device.type == "cpu"
