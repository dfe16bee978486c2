"""A student of a small teacher: its losses, its first weights, and a run from end to end."""

import json
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from bertlab import BertForPreTraining, InputError, Tokenizer
from bertlab.cli.main import main
from bertlab.training import distill
from bertlab.training.batches import batches
from bertlab.training.engine.micro_batches import micro_batches
from bertlab.training.initial_weights import new_model
from bertlab.training.recipes import Distillation
from tests.training.toy import pretrained

SIZES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "max_position_embeddings",
    "max_tokens",
    "batch_size",
)


@pytest.fixture
def taught(recipe, tok, tmp_path):
    """The recipe of a student, whose teacher has four layers of the same width."""
    teacher = new_model(replace(recipe, num_hidden_layers=4, seed=5), tok)
    teacher.save_pretrained(tmp_path / "teacher", tok)
    return replace(recipe, num_hidden_layers=2, teacher=str(tmp_path / "teacher"))


@pytest.fixture
def batch(documents, tok, taught):
    return distill.with_tokens(next(batches(documents, tok, taught)), tok)


def teacher_of(taught):
    return BertForPreTraining.from_pretrained(taught.teacher).requires_grad_(False)


def test_the_loss_is_the_weighted_sum_of_what_the_paper_names(taught, batch, tok):
    how, teacher = Distillation(temperature=3.0, soft=0.7, masked=0.2, states=0.1), teacher_of(taught)
    student = new_model(taught, tok)
    loss, watched = distill.distillation_loss(student, batch, teacher=teacher, how=how)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    (ours, mine), (theirs, other) = (
        (out.prediction_logits[batch["labels"] != -100], out.hidden_states[-1][inputs["attention_mask"].bool()])
        for out in (model(**inputs, output_hidden_states=True) for model in (student, teacher))
    )
    q, p = (theirs / 3).softmax(-1), (ours / 3).softmax(-1)
    soft = 9 * (q * (q / p).log()).sum(-1).mean()
    masked = F.cross_entropy(ours, batch["labels"][batch["labels"] != -100])
    states = 1 - F.cosine_similarity(mine, other, dim=-1).mean()
    torch.testing.assert_close(watched["soft_loss"], soft)
    torch.testing.assert_close(watched["states_loss"], states)
    torch.testing.assert_close(loss, 0.7 * soft + 0.2 * masked + 0.1 * states + watched["nsp_loss"])
    loss.backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert student.bert.encoder.layers[0].attention.qkv.weight.grad.abs().sum() > 0


def test_a_student_that_is_its_teacher_has_nothing_to_learn_from_it(taught, batch):
    teacher = teacher_of(taught)
    _, watched = distill.distillation_loss(teacher, batch, teacher=teacher, how=Distillation())
    assert abs(watched["soft_loss"]) < 1e-5 and abs(watched["states_loss"]) < 1e-5 < watched["mlm_loss"]


def test_micro_batches_teach_what_the_batch_teaches(taught, batch, tok):
    student, teacher = new_model(taught, tok), teacher_of(taught)
    options = {"teacher": teacher, "how": Distillation()}
    whole, _ = distill.distillation_loss(student, batch, **options)
    parts = [distill.distillation_loss(student, *part, **options)[0] for part in micro_batches(batch, 3)]
    torch.testing.assert_close(sum(parts), whole)


def test_a_student_begins_with_every_second_layer(taught, tok):
    teacher = teacher_of(taught)
    student = distill.new_student(taught, tok, [], teacher)
    for name, tensor in student.state_dict().items():
        assert tensor.equal(teacher.state_dict()[name.replace("layers.1.", "layers.2.")]), name


def test_what_computes_otherwise_lends_no_layers(taught, tok):
    teacher = teacher_of(taught)
    assert distill.shape(teacher.config) != distill.shape(teacher.config.changed(hidden_act="gelu_new"))
    assert distill.shape(teacher.config) != distill.shape(teacher.config.changed(type_vocab_size=1))


def test_a_student_of_another_kind_begins_anew(taught, tok):
    other = replace(taught, pre_norm=True)
    student = distill.new_student(other, tok, [], teacher_of(taught))
    fresh = new_model(other, tok).state_dict()
    assert all(tensor.equal(fresh[name]) for name, tensor in student.state_dict().items())


def test_operations_are_the_students_and_a_third_of_the_teachers(taught, batch, tok):
    student = new_model(taught, tok)
    alone = distill.pretraining_operations(student.config, batch)
    count = distill.distillation_operations(student, batch, teacher=student.config)
    assert count == pytest.approx(alone * 4 / 3)


def test_a_distilled_run_is_a_checkpoint_with_its_teacher_in_the_recipe(taught, texts, tok, tmp_path):
    out = tmp_path / "run"
    result = pretrained(replace(taught, steps=3), texts, tok, out=out, log_every=1)
    assert [set(row) >= {"soft_loss", "mlm_loss", "states_loss"} for row in result.rows] == [True] * 3
    assert BertForPreTraining.from_pretrained(out).config.num_hidden_layers == 2
    written = json.loads((out / "recipe.json").read_text())
    assert written["teacher"] == taught.teacher and written["distillation"]["temperature"] == 2.0


@pytest.mark.parametrize("changes", [dict(temperature=0.0), dict(soft=-1.0)])
def test_impossible_weights(changes):
    with pytest.raises(InputError, match="above 0, and no weight below"):
        Distillation(**changes)


def test_left_to_right_has_no_teacher(recipe):
    with pytest.raises(InputError, match="objective must be"):
        replace(recipe, teacher="x", objective="left-to-right", second_task="none")


def test_the_command_distils_into_a_student_of_the_teachers_vocabulary(taught, texts, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join("\n".join(sentences) for sentences in texts))
    sizes = [f"{name}={getattr(taught, name)}" for name in SIZES]
    out = tmp_path / "run"
    options = ["--text", str(text), "--teacher", taught.teacher, "--out", str(out), "--device", "cpu"]
    main(["pretrain", *options, "--steps", "2", "--set", *sizes])
    assert Tokenizer.from_pretrained(out).vocab == Tokenizer.from_pretrained(taught.teacher).vocab
    assert json.loads((out / "recipe.json").read_text())["teacher"] == taught.teacher
    assert f"--teacher {taught.teacher} --set" in (out / "README.md").read_text()
