"""Tasks by name, and the task that a checkpoint tells of itself."""

import json
import shutil

import pytest
import torch

from bertlab import (
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForTokenClassification,
    InputError,
    Tokenizer,
)
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.registry import TASKS, family_of, find_task, open_task
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
