"""One vector for a text: pooling, the loss of in-batch negatives, a folder that other libraries read."""

import json

import pytest
import torch
import torch.nn.functional as F
import transformers

from bertlab import BertForSentenceEmbedding, BertModel, InputError, Tokenizer
from bertlab.model.sentences import SCALE, OwnPooling, in_batch_loss, own_pooling, same_texts


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
    right = F.cross_entropy(SCALE * cosines, torch.arange(len(alone)))
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
    same = same_texts(ids)
    assert same.tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    vectors = F.normalize(torch.randn(3, 2, 8), dim=-1)
    vectors[2, 1] = vectors[0, 1]
    logits = SCALE * vectors[:, 0] @ vectors[:, 1].T
    first, third = logits[0, :2].log_softmax(-1)[0], logits[2, 1:].log_softmax(-1)[1]
    right = -(first + logits[1].log_softmax(-1)[1] + third) / 3
    assert in_batch_loss(vectors, same=same).item() == pytest.approx(float(right), abs=1e-6)


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
    assert torch.equal(again(**batch).embeddings, model(**batch).embeddings)


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


def test_the_pooling_of_a_folder(model, tmp_path):
    model.save_pretrained(tmp_path)
    assert own_pooling(tmp_path) == OwnPooling("mean", unit=True)
    config, modules = tmp_path / "1_Pooling" / "config.json", json.loads((tmp_path / "modules.json").read_text())
    config.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    (tmp_path / "modules.json").write_text(json.dumps(modules[:2]))
    assert own_pooling(tmp_path) == OwnPooling("cls", unit=False)
    config.write_text('{"pooling_mode_weightedmean_tokens": true}')
    with pytest.raises(InputError, match="config.json: pooling weightedmean_tokens; known are cls_token"):
        own_pooling(tmp_path)
    modules[1]["path"] = "../1_Pooling"
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="outside this folder"):
        own_pooling(tmp_path)
    (tmp_path / "modules.json").unlink()
    assert own_pooling(tmp_path) is None
