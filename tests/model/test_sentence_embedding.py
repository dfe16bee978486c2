"""One vector for a text: pooling, the loss of in-batch negatives, a folder that other libraries read."""

import json
import re

import pytest
import torch
import torch.nn.functional as F
import transformers

from bertlab import BertForSentenceEmbedding, BertModel, InputError, Tokenizer
from bertlab.model.sentences import SCALE, OwnPooling, in_batch_loss, own_pooling, right_texts, same_texts


@pytest.fixture
def model(config):
    return BertForSentenceEmbedding(config).eval()


def test_the_mean_over_real_tokens_of_length_one(model, batch):
    out = model(**batch)
    states = model.bert(**batch).last_hidden_state
    for row, real, vector in zip(states, batch["attention_mask"].bool(), out.embeddings, strict=True):
        assert torch.allclose(vector, F.normalize(row[real].mean(0), dim=-1), atol=1e-6)
    assert out.loss is None and torch.allclose(out.embeddings.norm(dim=-1), torch.ones(len(states)))


def test_padding_and_packing_change_nothing(model, batch):
    wide = {name: F.pad(tensor, (0, 2)) for name, tensor in batch.items()}
    right = model(**batch).embeddings
    assert torch.allclose(model(**wide).embeddings, right, atol=1e-6)
    assert torch.allclose(model(**wide, packed=True).embeddings, right, atol=1e-6)


def test_pairs_are_encoded_alone_and_learned_from(model, batch):
    pairs = {name: torch.stack([tensor, tensor.flip(0)], dim=1) for name, tensor in batch.items()}  # (B, 2, S)
    out = model(**pairs, labels=torch.ones(len(batch["input_ids"]), dtype=torch.long))
    alone = model(**batch).embeddings
    assert torch.allclose(out.embeddings[:, 0], alone, atol=1e-6)
    assert torch.allclose(out.embeddings[:, 1], alone.flip(0), atol=1e-6)
    cosines = F.cosine_similarity(alone[:, None], alone.flip(0)[None], dim=-1)
    partners = torch.eye(len(alone), dtype=torch.bool)
    itself = partners.flip(0) & ~partners  # each first text is a second text of another pair, no negative of itself
    right = F.cross_entropy((SCALE * cosines).masked_fill(itself, float("-inf")), torch.arange(len(alone)))
    assert out.loss.item() == pytest.approx(right.item(), abs=1e-5)
    out.loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_what_is_not_learned_from_still_serves_as_a_negative():
    vectors = F.normalize(torch.randn(4, 2, 8), dim=-1)
    logits = SCALE * vectors[:, 0] @ vectors[:, 1].T
    some = in_batch_loss(vectors, torch.tensor([1, -100, 1, -100]))
    assert some.item() == pytest.approx(float(F.cross_entropy(logits[[0, 2]], torch.tensor([0, 2]))), abs=1e-6)
    assert in_batch_loss(vectors, torch.full((4,), -100)) == 0


def test_a_text_that_occurs_twice_is_no_negative_of_itself():
    ids = torch.tensor([[5, 6], [7, 8], [5, 6]])
    same = same_texts(ids, ids)
    assert same.tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    vectors = F.normalize(torch.randn(3, 2, 8), dim=-1)
    vectors[2, 1] = vectors[0, 1]
    logits = SCALE * vectors[:, 0] @ vectors[:, 1].T
    first, third = logits[0, :2].log_softmax(-1)[0], logits[2, 1:].log_softmax(-1)[1]
    right = -(first + logits[1].log_softmax(-1)[1] + third) / 3
    assert in_batch_loss(vectors, right=same).item() == pytest.approx(float(right), abs=1e-6)


def test_further_partners_of_a_text_are_no_negatives(model):
    """An answer with two questions, one of them again beside another answer; a pair that is not right stays one."""
    pairs = [[[5, 6], [7, 8]], [[5, 6], [8, 9]], [[6, 7], [8, 9]], [[5, 6], [9, 9]]]
    ids, labels = torch.tensor(pairs), torch.tensor([1, 1, 1, -100])  # (B, 2, S), (B,)
    right = [[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]]
    assert right_texts(ids, labels).int().tolist() == right
    chain = torch.tensor([[[5, 6], [6, 7]], [[6, 7], [7, 8]]])  # the second text of one pair is the first of the next
    assert right_texts(chain, torch.ones(2)).int().tolist() == [[1, 0], [1, 1]]
    out = model(ids, labels=labels)
    logits = SCALE * out.embeddings[:, 0] @ out.embeddings[:, 1].T
    losses = [F.cross_entropy(logits[i, [i, *others]], torch.tensor(0)) for i, others in enumerate([[3], [3], [0, 3]])]
    assert out.loss.item() == pytest.approx((sum(losses) / 3).item(), abs=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 1, 5)])
def test_other_than_pairs_are_refused(model, shape):
    with pytest.raises(InputError, match=r"\(batch, 2, tokens\)"):
        model(torch.full(shape, 5))


def test_to_learn_it_needs_pairs(model, batch):
    with pytest.raises(InputError, match=r"\(batch, 2, tokens\)"):
        model(**batch, labels=torch.ones(len(batch["input_ids"]), dtype=torch.long))


# A saved folder


def test_a_saved_folder_has_the_layout_of_sentence_transformers(model, batch, tmp_path):
    tokenizer = Tokenizer.train(["my dog is hairy"], 40, min_frequency=1)
    for _ in range(2):  # a folder that is there already
        model.save_pretrained(tmp_path / "model", tokenizer)
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    assert [(one["idx"], one["name"], one["path"]) for one in modules] == [
        (0, "0", ""), (1, "1", "1_Pooling"), (2, "2", "2_Normalize"),
    ]  # fmt: skip
    kinds = [one["type"].rpartition(".")[2] for one in modules]
    assert kinds == ["Transformer", "Pooling", "Normalize"]
    pooling = json.loads((tmp_path / "model" / "1_Pooling" / "config.json").read_text())
    assert pooling["word_embedding_dimension"] == model.config.hidden_size
    assert [name for name, value in pooling.items() if value is True] == ["pooling_mode_mean_tokens"]
    again = BertForSentenceEmbedding.from_pretrained(tmp_path / "model")
    torch.testing.assert_close(again(**batch).embeddings, model(**batch).embeddings)


def test_its_parts_put_together_by_transformers_give_the_same_vectors(model, batch, tmp_path):
    """Transformer, mean pooling over the attention mask, length 1: what the folder's modules stand for."""
    model.save_pretrained(tmp_path, Tokenizer.train(["my dog is hairy"], 40, min_frequency=1))
    theirs = transformers.AutoModel.from_pretrained(tmp_path).eval()
    states, mask = theirs(**batch).last_hidden_state, batch["attention_mask"][:, :, None].float()
    vectors = F.normalize((states * mask).sum(1) / mask.sum(1).clamp(min=1e-9), dim=-1)
    assert torch.allclose(vectors, model(**batch).embeddings, atol=1e-5)


def test_any_bert_can_be_the_start(config, batch, tmp_path):
    encoder = BertModel(config).eval()
    encoder.save_pretrained(tmp_path)
    vectors = BertForSentenceEmbedding.from_pretrained(tmp_path)(**batch).embeddings
    assert vectors.shape == (len(batch["input_ids"]), config.hidden_size)


# A sentence encoder's files


def described(folder, name, **changes):
    """Write fields into a JSON file of a folder."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | changes))


@pytest.fixture
def folder(model, tmp_path):
    """A folder that sentence-transformers opens: Transformer, mean pooling, Normalize."""
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def modules(folder, *kinds, paths=None):
    """Name the modules of a folder."""
    paths = paths or ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds[1:], start=1))]
    types = [kind if "." in kind else f"sentence_transformers.models.{kind}" for kind in kinds]
    rows = [dict(idx=i, name=str(i), path=p, type=t) for i, (p, t) in enumerate(zip(paths, types, strict=True))]
    (folder / "modules.json").write_text(json.dumps(rows))


LEGACY = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False}


@pytest.mark.parametrize(
    ("pooling", "kind"),
    [
        (LEGACY | {"pooling_mode_cls_token": True}, "cls"),
        (LEGACY | {"pooling_mode_max_tokens": True}, "max"),
        (LEGACY | {"pooling_mode_mean_tokens": True}, "mean"),
        (LEGACY, "mean"),
        ({"word_embedding_dimension": 24}, "mean"),
        ({"embedding_dimension": 24, "pooling_mode": "mean", "include_prompt": True}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["max"]}, "max"),
        (LEGACY | {"pooling_mode_cls_token": True, "pooling_mode": "max"}, "max"),
    ],
)
def test_the_pooling_of_a_folder(pooling, kind, folder):
    """Releases before 6 have a flag for each kind, release 6 a name or a list."""
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    assert own_pooling(folder)[:2] == (kind, True)


@pytest.mark.parametrize(
    ("pooling", "words"),
    [
        ({"pooling_mode_weightedmean_tokens": True}, "pooling 'weightedmean'; known are cls, mean, max"),
        ({"pooling_mode": "mean_sqrt_len_tokens"}, "pooling 'mean_sqrt_len_tokens'"),
        ({"pooling_mode": ["cls", "mean"]}, "pooling 'cls, mean'; known are cls, mean, max, one at a time"),
        (LEGACY | {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "one at a time"),
        ({"pooling_mode": []}, "pooling ''"),
        ({"pooling_mode": None}, "pooling 'None'"),
        ({"pooling_mode": [["cls"]]}, "one at a time"),
        ({"pooling_mode": True}, "pooling 'True'"),
        (LEGACY | {"pooling_mode_cls_token": "false"}, "pooling_mode_cls_token must be true or false, not 'false'"),
        (
            LEGACY | {"pooling_mode_mean_tokens": float("nan")},
            "pooling_mode_mean_tokens must be true or false, not nan",
        ),
        (LEGACY | {"pooling_mode_mean_tokens": 1}, "must be true or false, not 1"),
    ],
)
def test_another_pooling_is_refused(pooling, words, folder):
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    with pytest.raises(InputError, match=re.escape(words)):
        own_pooling(folder)


@pytest.mark.parametrize(
    ("kinds", "unit"),
    [
        (["Transformer", "Pooling"], False),
        (["BERT", "Pooling"], False),
        (["Transformer", "Pooling", "Normalize"], True),
        (
            [
                "sentence_transformers.base.modules.transformer.Transformer",
                "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
                "sentence_transformers.base.modules.normalize.Normalize",
            ],
            True,
        ),
    ],
)
def test_modules_that_make_a_vector(kinds, unit, folder):
    modules(folder, *kinds, paths=["", "1_Pooling", "2_Normalize"][: len(kinds)])
    assert own_pooling(folder)[:2] == ("mean", unit)


@pytest.mark.parametrize(
    "kinds",
    [
        ["Transformer", "Pooling", "Dense", "Normalize"],
        ["Transformer", "Pooling", "LayerNorm"],
        ["Transformer", "Normalize", "Pooling"],
        ["Transformer", "Pooling", "Pooling"],
        ["Transformer", "WeightedLayerPooling", "Pooling"],
        ["Transformer", "my_module.Pooling"],
        ["Transformer"],
        ["MLMTransformer", "SpladePooling"],
    ],
)
def test_other_modules_are_refused(kinds, folder):
    """None of them may be left out without a word."""
    modules(folder, *kinds)
    with pytest.raises(InputError, match="modules.json: modules .*; vectors are made by Transformer, Pooling"):
        own_pooling(folder)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../1_Pooling", "lies outside this folder"),
        ("/1_Pooling", "lies outside this folder"),
        ("1_Pool\0ing", "is no name of a file"),
        ("\ud800", "half of a surrogate pair"),
        (None, "is no name of a file"),
        ("x" * 300, "File name too long"),
        ("2_Pooling", "No such file"),
    ],
)
def test_the_pooling_lies_in_the_folder(path, words, folder):
    modules(folder, "Transformer", "Pooling", paths=["", path])
    with pytest.raises(InputError, match=words):
        own_pooling(folder)


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("sentence_bert_config.json", {"do_lower_case": "no"}, "do_lower_case must be true or false"),
        ("sentence_bert_config.json", {"max_seq_length": 2}, "must be 3 or more, not 2"),
        ("sentence_bert_config.json", {"max_seq_length": True}, "must be 3 or more, not True"),
        ("sentence_bert_config.json", {"max_seq_length": "128"}, "must be 3 or more"),
        ("sentence_bert_config.json", {"max_seq_length": float("nan")}, "must be 3 or more"),
        ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "'transformer_task' is 'fill-mask'"),
        ("sentence_bert_config.json", {"modality_config": {"text": {"method": "other"}}}, "might change the vectors"),
        ("sentence_bert_config.json", {"query_length": 32}, "'query_length' is 32"),
        ("sentence_roberta_config.json", {"query_length": 32}, "sentence_roberta_config.json: 'query_length' is 32"),
        ("1_Pooling/config.json", {"pooling_mode": "mean", "layer": 3}, "'layer' is 3, which might change the vectors"),
        ("config_sentence_transformers.json", {"truncate_dim": 8}, "'truncate_dim' is 8"),
        ("config_sentence_transformers.json", {"model_type": "CrossEncoder"}, "'model_type' is 'CrossEncoder'"),
        ("2_Normalize/config.json", {"module_input_name": "token_embeddings"}, "might change the vectors"),
        (
            "config_sentence_transformers.json",
            {"default_prompt_name": "query", "prompts": {"query": "query: "}},
            "puts no prompt before a text",
        ),
    ],
)
def test_another_computation_is_refused(name, fields, words, folder):
    if name == "sentence_roberta_config.json":  # read where the usual one is not there
        (folder / "sentence_bert_config.json").unlink(missing_ok=True)
    described(folder, name, **fields)
    with pytest.raises(InputError, match=re.escape(words)):
        own_pooling(folder)


def test_files_of_release_6(folder):
    """As sentence-transformers 6.2.0 writes them; the length stands beside the tokenizer."""
    text = {"method": "forward", "method_output_name": "last_hidden_state"}
    written = dict(transformer_task="feature-extraction", modality_config={"text": text})
    written["module_output_name"] = "token_embeddings"
    (folder / "sentence_bert_config.json").write_text(json.dumps(written))
    described(
        folder, "config_sentence_transformers.json", prompts={"query": "", "document": ""}, default_prompt_name=None
    )
    described(
        folder,
        "2_Normalize/config.json",
        **dict.fromkeys(["module_input_name", "module_output_name"], "sentence_embedding"),
    )
    assert own_pooling(folder) == OwnPooling("mean", unit=True)
    described(folder, "tokenizer_config.json", model_max_length=12)
    assert own_pooling(folder) == OwnPooling("mean", unit=True, max_length=12)
    described(folder, "tokenizer_config.json", model_max_length=10**30)
    assert own_pooling(folder) == OwnPooling("mean", unit=True)


def test_what_is_read_of_a_text(folder):
    described(folder, "sentence_bert_config.json", max_seq_length=9, do_lower_case=True)
    assert own_pooling(folder) == OwnPooling("mean", unit=True, lower=True, max_length=9)


def test_what_orders_the_vectors(folder):
    """Of vectors of length 1 the dot product orders as the cosine does."""
    described(folder, "config_sentence_transformers.json", similarity_fn_name="dot")
    assert own_pooling(folder).similarity == "cosine"
    modules(folder, "Transformer", "Pooling")
    assert own_pooling(folder).similarity == "dot"


def test_a_folder_without_modules_is_no_sentence_encoder(folder):
    (folder / "modules.json").unlink()
    assert own_pooling(folder) is None
    inner = folder / "0_Transformer"
    inner.mkdir()
    modules(folder, "Transformer", "Pooling", paths=["0_Transformer", "1_Pooling"])
    assert own_pooling(inner) == OwnPooling("mean", unit=False)
    assert own_pooling(folder / "another") is None
