"""Every head as an ONNX file: the same outputs, whatever the batch and its length."""

import json
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tokenizers
import torch

from bertlab import BertConfig, BertForPreTraining, BertForTokenClassification, InputError, Tokenizer
from bertlab.cli.main import main
from bertlab.corpora.examples import TextExample
from bertlab.deploy import export
from bertlab.deploy.export import Agreement, export_model, random_batches, trained_parts
from bertlab.deploy.onnx import computed_by_onnx, named_outputs
from bertlab.model import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForQuestionAnswering,
    BertForSentenceEmbedding,
    BertForSequenceClassification,
    BertModel,
)
from bertlab.search.vectors import TextEncoder
from bertlab.tasks.registry import open_task

HEADS = {
    "encoder": (BertModel, {}),
    "pretraining": (BertForPreTraining, {}),
    "masked": (BertForMaskedLM, {}),
    "next": (BertForNextSentencePrediction, {}),
    "sequence": (BertForSequenceClassification, {"num_labels": 3}),
    "several": (BertForSequenceClassification, {"num_labels": 3, "problem_type": "multi_label_classification"}),
    "number": (BertForSequenceClassification, {"num_labels": 1, "pooling": "mean", "layer_mix": "scalar-mix"}),
    "token": (BertForTokenClassification, {"num_labels": 3}),
    "cnn": (BertForTokenClassification, {"num_labels": 3, "token_decoder": "cnn"}),
    "crf": (BertForTokenClassification, {"id2label": {0: "O", 1: "B-x", 2: "I-x"}, "token_decoder": "crf"}),
    "span": (BertForQuestionAnswering, {}),
    "choice": (BertForMultipleChoice, {}),
    "embedding": (BertForSentenceEmbedding, {}),
}
OUTPUTS = {
    "encoder": ["last_hidden_state", "pooler_output"],
    "pretraining": ["prediction_logits", "seq_relationship_logits"],
    "BertForPreTraining": ["logits"],
    "BertModel": ["last_hidden_state"],
    "span": ["start_logits", "end_logits"],
    "embedding": ["embeddings"],
}


@pytest.fixture
def saved(tmp_path, tok):
    """Saves a small model with this head, random but for the CRF's scores, and returns its folder."""

    def save(name: str) -> str:
        kind, fields = HEADS[name]
        sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
        model = kind(BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=24, **sizes).changed(**fields))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
        model.save_pretrained(tmp_path / name, tok)
        return str(tmp_path / name)

    return save


# "pretraining" holds the first three, and several outputs as "span" does; the command writes "sequence"; "token" is the
# first half of "crf"; "number" is pooled as "embedding" is
LIKE_OTHERS = ("encoder", "masked", "next", "sequence", "several", "token", "number", "span")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in LIKE_OTHERS else ()) for name in HEADS]
)
def test_onnx_of_every_head(name, saved, tmp_path):
    exported = export_model(saved(name), tmp_path / "out")
    agreement = exported.agreement
    assert agreement.inputs == 200 and agreement.relative < 1e-4 and agreement.cosine > 0.999
    assert agreement.same >= 0.99 * agreement.decisions
    assert agreement.decisions > 0 or name in ("encoder", "embedding", "number")
    session = onnxruntime.InferenceSession(exported.file)
    assert [output.name for output in session.get_outputs()] == OUTPUTS.get(name, ["logits"])
    axes = ["batch", "choices", "tokens"] if name == "choice" else ["batch", "tokens"]
    assert all(given.shape == axes for given in session.get_inputs())
    if name == "crf":
        check_viterbi(exported, tmp_path)


def check_viterbi(exported, tmp_path):
    """What the docs show: the emissions of the export and crf.json give the labels that the model decodes."""
    model = BertForTokenClassification.from_pretrained(tmp_path / "crf")
    scores = json.loads((tmp_path / "out" / "crf.json").read_text())
    start, steps, end = (np.array(scores[name]) for name in ("start", "transitions", "end"))
    batch = next(random_batches(model, Tokenizer.from_pretrained(tmp_path / "crf"), 2))
    words = batch["attention_mask"].bool()
    logits = exported.twin(**batch).logits
    for emissions, real, expected in zip(logits, words, model.decode(logits, words), strict=True):
        best, pointers = start + emissions[real][0].numpy(), []
        for emission in emissions[real][1:].numpy():
            paths = best[:, None] + steps
            pointers.append(paths.argmax(0))
            best = paths.max(0) + emission
        labels = [int((best + end).argmax())]
        for pointer in reversed(pointers):
            labels.insert(0, int(pointer[labels[0]]))
        assert labels == expected


def test_the_command_writes_all_that_a_service_needs(saved, tmp_path, capsys):
    """ONNX by the command, then what another program does: tokenize with the files beside it, and run."""
    folder, out = saved("sequence"), tmp_path / "out"
    main(["export", folder, "--out", str(out)])
    printed = capsys.readouterr()
    assert "200 inputs, largest difference" in printed.out and str(out / "model.onnx") in printed.err
    files = {"model.onnx", "config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in out.iterdir()} == files
    one = tokenizers.Tokenizer.from_file(str(out / "tokenizer.json")).encode("the old dog", "is hairy")
    inputs = {"input_ids": one.ids, "attention_mask": one.attention_mask, "token_type_ids": one.type_ids}
    session = onnxruntime.InferenceSession(out / "model.onnx")
    (logits,) = session.run(None, {name: np.array([row]) for name, row in inputs.items()})
    with torch.inference_mode():
        batch = Tokenizer.from_pretrained(folder)(["the old dog"], ["is hairy"])
        expected = BertForSequenceClassification.from_pretrained(folder)(**batch).logits
    np.testing.assert_allclose(logits, expected, atol=1e-4)

    model, task = open_task(folder)
    examples = [TextExample(str(n), text) for n, text in enumerate(("the old dog", "a cat", "he likes walks", "the"))]
    twin = computed_by_onnx(out / "model.onnx", model, next(random_batches(model, task.tokenizer, 2)))
    assert [p.label for p in task.predict(twin, examples)] == [p.label for p in task.predict(model, examples)]


def test_int8_is_measured_on_labelled_examples(tmp_path, capsys):
    (tmp_path / "some.csv").write_text("text,label\nThe soup was good.,good\nThe soup was bad.,bad\n")
    model, data = "storyworld-tiny-sentiment", str(tmp_path / "some.csv")
    main(["export", model, "--out", str(tmp_path / "m.onnx"), "--int8", "--data", data])
    printed = capsys.readouterr().out
    assert "accuracy" in printed and printed.splitlines()[1].split() == ["model", "export"]
    assert "decisions equal" in printed and (tmp_path / "m.onnx").stat().st_size < 5e6


def test_an_export_that_differs_is_not_written(saved, tmp_path, monkeypatch):
    folder = saved("sequence")

    def slightly_wrong(path, model, inputs):
        twin = copy(model)
        twin.forward = lambda **batch: replace(model(**batch), logits=model(**batch).logits + 0.1)
        return twin

    monkeypatch.setattr(export, "write_onnx", lambda model, inputs, path, int8: path.touch())
    monkeypatch.setattr(export, "computed_by_onnx", slightly_wrong)
    with pytest.raises(InputError, match="differs from the model .*; nothing was written"):
        export_model(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    nans = torch.full((1, 3), torch.nan)
    found = Agreement()
    found.add("logits", torch.zeros(1, 3), nans, torch.ones(1, 3, dtype=torch.bool), BertConfig())
    assert found.relative == torch.inf


def test_parts_that_a_checkpoint_lacks_are_not_exported(config, tok, tmp_path):
    """They would be random: no word of the pooler where it is missing, and no head for pairs."""
    BertForMaskedLM(config.changed(vocab_size=tok.vocab_size)).save_pretrained(tmp_path / "masked", tok)
    fields = json.loads((tmp_path / "masked" / "config.json").read_text())
    for kind in ("BertForPreTraining", "BertModel", "BertForSequenceClassification"):
        (tmp_path / "masked" / "config.json").write_text(json.dumps(fields | {"architectures": [kind]}))
        if kind == "BertForSequenceClassification":
            with pytest.raises(InputError, match="no trained classifier"):
                trained_parts(tmp_path / "masked")
            return
        batch = next(random_batches(model := trained_parts(tmp_path / "masked"), tok, 2))
        assert [*named_outputs(model(**batch))] == OUTPUTS[kind]


def test_pairs_of_texts_are_computed_by_the_export_too(saved, tmp_path):
    exported = export_model(saved("embedding"), tmp_path / "out")
    model = BertForSentenceEmbedding.from_pretrained(tmp_path / "embedding")
    batch = next(random_batches(model, Tokenizer.from_pretrained(tmp_path / "embedding"), 2))
    batch = {name: x.unflatten(0, (-1, 2)) for name, x in batch.items()}  # (2, S) -> (1, 2, S)
    with torch.no_grad():
        torch.testing.assert_close(exported.twin(**batch).embeddings, model(**batch).embeddings, atol=1e-4, rtol=0)


def test_a_plain_folder_is_read_as_the_model_was(tmp_path, capsys):
    """The lengths of its run, and how its texts become vectors."""
    main(["export", "english", "--to", "transformers", "--out", str(tmp_path / "whole")])
    theirs, ours = (TextEncoder.open(name) for name in ("english", tmp_path / "whole"))
    assert (ours.max_length, ours.pooling, ours.normalise) == (theirs.max_length, theirs.pooling, theirs.normalise)
    main(["export", "english-sentiment", "--to", "transformers", "--out", str(tmp_path / "judge")])
    (_, learned), (_, exported) = open_task("english-sentiment"), open_task(tmp_path / "judge")
    assert exported.max_length == learned.max_length == 128 and exported.learned == learned.learned
    (tmp_path / "judge" / "metrics.csv").touch()
    capsys.readouterr()
    message = refused(capsys, "english-sentiment", "--to", "transformers", "--out", str(tmp_path / "judge"))
    assert "holds a run, whose model this would replace" in message


def test_a_plain_folder_keeps_the_function_of_a_cross_encoder(saved, tmp_path):
    """Without it sentence-transformers would apply a sigmoid to one logit."""
    path = Path(saved("sequence")) / "config.json"
    stated = {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "5.1.0"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | stated))
    export.export_folder(path.parent, tmp_path / "whole")
    assert stated.items() <= json.loads((tmp_path / "whole" / "config.json").read_text()).items()


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["export", *arguments])
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert stopped.value.code == 2
    return line


def test_a_vocabulary_that_is_there_stays(saved, tmp_path, capsys):
    (tmp_path / "vocab.txt").write_text("mine\n")
    assert "belongs to something else" in refused(capsys, saved("sequence"), "--out", str(tmp_path / "a.onnx"))
