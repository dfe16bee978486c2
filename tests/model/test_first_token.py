"""A left-to-right (causal) model's [CLS] has seen no word: what would take it for a text refuses in one line."""

import json
from dataclasses import replace

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
    Tokenizer,
)
from bertlab.cli.main import main
from bertlab.corpora.examples import ChoiceExample, TextExample
from bertlab.explain.vectors import text_vectors
from bertlab.explain.words.next_sentence import next_sentence
from bertlab.model import BertForNextSentencePrediction
from bertlab.model.base import PretrainedModel
from bertlab.search.vectors import TextEncoder
from bertlab.tasks.registry import open_task
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe

CAUSAL = "english-left-to-right"
TINY = dict(vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
REFUSED = "reads from left to right: its [CLS] sees no word"
TEXTS = [TextExample(str(n), text, label=label) for n, (text, label) in enumerate([("good", "a"), ("bad", "b")] * 8)]
PAIRS = [replace(example, pair="good") for example in TEXTS]
CHOICES = [ChoiceExample(str(number), "a text", ("good", "bad"), number % 2) for number in range(8)]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(["good bad text", "a b c"] * 3, vocab_size=60)


def saved(folder, tok, head: type[PretrainedModel], **fields) -> str:
    config = BertConfig(**TINY, is_decoder=True, **fields).changed(vocab_size=tok.vocab_size)
    head(config).save_pretrained(folder, tok)
    return str(folder)


def test_its_first_state_is_the_same_in_all_texts(tok):
    model = BertModel(BertConfig(**TINY, is_decoder=True)).eval()
    one, two = (model(torch.tensor([row])).last_hidden_state[0, 0] for row in ([2, 7, 8], [2, 9, 5]))
    assert torch.allclose(one, two, atol=1e-6)


@pytest.mark.parametrize(("task", "examples"), [("sentence", TEXTS), ("pair", PAIRS), ("choice", CHOICES)])
@pytest.mark.parametrize("mix", ["last", "scalar-mix"])
def test_it_is_not_fine_tuned_on_it(task, examples, mix):
    with pytest.raises(InputError) as refused:
        finetune(FinetuneRecipe(task, CAUSAL, layer_mix=mix), examples)
    assert str(refused.value).startswith(f"{CAUSAL} {REFUSED}") and "--set pooling=mean" in str(refused.value)


def test_the_mean_of_its_tokens_is_fine_tuned(tok, tmp_path):
    base = saved(tmp_path / "base", tok, BertForPreTraining)
    recipe = FinetuneRecipe("sentence", base, pooling="mean", max_length=16, steps=1, batch_size=4)
    found = finetune(recipe, TEXTS, out=tmp_path / "run", progress=False)
    assert found.model.config.is_decoder
    model, _ = open_task(tmp_path / "run")
    assert model.config.pooling == "mean"


@pytest.mark.parametrize("head", [BertForSequenceClassification, BertForMultipleChoice, BertForNextSentencePrediction])
def test_a_head_that_reads_it_is_not_opened(head, tok, tmp_path):
    name = saved(tmp_path / "model", tok, head)
    for opens in (head.from_pretrained, head.trained):
        with pytest.raises(InputError, match="its .CLS. sees no word") as refused:
            opens(name)
        assert str(refused.value).startswith(f"{name} ") and "such as english" in str(refused.value)


def test_heads_that_read_other_tokens_are_opened(tok, tmp_path):
    for number, (head, fields) in enumerate(
        [(BertForTokenClassification, {}), (BertForSequenceClassification, {"pooling": "mean"})]
    ):
        assert head.from_pretrained(saved(tmp_path / str(number), tok, head, **fields)).config.is_decoder


@pytest.mark.parametrize("command", ["evaluate {} --data rows.csv", "predict good --model {}"])
def test_commands_refuse_what_was_fine_tuned_on_it(command, tok, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text,label\ngood,LABEL_0\n")
    saved(tmp_path / "model", tok, BertForSequenceClassification)
    with pytest.raises(SystemExit) as left:
        main(command.format("model").split())
    said = capsys.readouterr().err
    assert left.value.code == 2 and f"bertlab: model {REFUSED}" in said and said.count("\n") == 1


def test_no_vector_is_made_of_it(tok, tmp_path):
    name = saved(tmp_path / "model", tok, BertModel)
    with pytest.raises(InputError, match="the mean over the tokens"):
        text_vectors(BertModel.from_pretrained(name), tok, ["good"], "cls")
    assert text_vectors(BertModel.from_pretrained(name), tok, ["good"], "mean").shape == (3, 1, 16)
    (tmp_path / "model" / "1_Pooling").mkdir()
    kinds = {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (tmp_path / "model" / "1_Pooling" / "config.json").write_text(json.dumps(kinds))
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling")])
    ]
    (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="its .CLS. sees no word"):
        TextEncoder.open(name)


def test_it_judges_no_next_sentence(tok, tmp_path):
    model = BertForPreTraining.from_pretrained(saved(tmp_path / "model", tok, BertForPreTraining))
    with pytest.raises(InputError, match="its .CLS. sees no word"):
        next_sentence(model, tok, "good", "bad")
