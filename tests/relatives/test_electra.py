"""ELECTRA against transformers, and its parts: what is replaced, what is judged, which embeddings are shared."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import BertConfig, Tokenizer
from bertlab.inputs.masking import mask_tokens
from bertlab.model.weights import published_tensors
from bertlab.relatives.electra import WEIGHT, Electra, ReplacedTokenDetection
from bertlab.relatives.kinds import rebuild_all

TOK = Tokenizer.from_pretrained("storyworld-tiny")
SHAPE = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 64}
CONFIG = BertConfig(vocab_size=TOK.vocab_size, **SHAPE, max_position_embeddings=32, initializer_range=0.1)
CONFIG = CONFIG.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
BATCH = TOK(["the dog did not cross the street", "ann waits"], ["it was too tired", "it rains"])


def masked() -> dict[str, torch.Tensor]:
    special = TOK.special_mask(BATCH["input_ids"])
    done = mask_tokens(BATCH["input_ids"], special, TOK, torch.Generator().manual_seed(0))
    return {**BATCH, "input_ids": done.input_ids, "labels": done.labels}


def new() -> Electra:
    torch.manual_seed(0)
    return Electra(CONFIG).eval()


def run(model: Electra, batch: dict[str, torch.Tensor]):
    torch.manual_seed(1)
    return model(**batch, judged=~TOK.special_mask(BATCH["input_ids"]))


@torch.no_grad()
def test_the_detector_is_transformers():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    mine = ReplacedTokenDetection(CONFIG).eval()
    shape = {name: getattr(CONFIG, name) for name in (*SHAPE, "vocab_size", "max_position_embeddings")}
    config = transformers.ElectraConfig(**shape, embedding_size=32, hidden_dropout_prob=0.0)
    theirs = transformers.ElectraForPreTraining(config).eval()
    state = {f"electra.{name}": tensor for name, tensor in published_tensors(mine.bert).items()}
    heads = {"dense": mine.dense, "dense_prediction": mine.detector}
    for name, layer in heads.items():
        state |= {f"discriminator_predictions.{name}.{leaf}": value for leaf, value in layer.state_dict().items()}
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not missing and not unexpected
    real = BATCH["attention_mask"].bool()
    torch.testing.assert_close(mine(**BATCH)[real], theirs(**BATCH).logits[real], atol=1e-5, rtol=1e-4)


def test_embeddings_are_shared_and_the_generator_is_small():
    model = new()
    assert model.generator.bert.embeddings.word is model.encoder.embeddings.word
    assert model.generator.mlm.decoder.weight is model.encoder.embeddings.word.weight
    layers = [sum(p.numel() for p in part.encoder.parameters()) for part in (model.generator.bert, model.encoder)]
    assert layers[0] < layers[1] / 4


@torch.no_grad()
def test_only_masked_tokens_are_replaced_and_right_guesses_are_no_replacement():
    model, batch = new(), masked()
    out = run(model, batch)
    hidden = batch["labels"] != -100
    assert not out.replaced[~hidden].any() and out.replaced[hidden].any()
    model.generator.mlm.decoder.bias.fill_(-1e4)
    label = int(batch["labels"][hidden][0])
    model.generator.mlm.decoder.bias[label] = 0.0  # now it always guesses this one
    assert (run(model, batch).replaced == hidden & (batch["labels"] != label)).all()


@torch.no_grad()
def test_the_losses_are_those_of_the_parts():
    model, batch = new(), masked()
    out = run(model, batch)
    judged = ~TOK.special_mask(BATCH["input_ids"])
    detector = F.binary_cross_entropy_with_logits(out.logits[judged], out.replaced[judged].float())
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = model.generator(**inputs).logits
    generator = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
    torch.testing.assert_close(out.loss, generator + WEIGHT * detector, atol=1e-4, rtol=1e-5)


def test_both_parts_learn_and_no_gradient_goes_through_what_was_drawn():
    model, batch = new(), masked()
    out = run(model, batch)
    out.detector_loss.backward()
    assert all(p.grad is None for p in model.generator.mlm.dense.parameters())
    assert model.encoder.embeddings.word.weight.grad.abs().sum() > 0
    run(model, batch).generator_loss.backward()
    assert all(p.grad is not None for p in model.generator.mlm.dense.parameters())


def test_a_denoising_autoencoder_is_asked_for_every_word():
    batch = masked()
    rebuilt = rebuild_all(batch, TOK)
    ordinary = ~TOK.special_mask(BATCH["input_ids"])
    assert torch.equal(rebuilt["labels"], BATCH["input_ids"].masked_fill(~ordinary, -100))
    assert torch.equal(rebuilt["input_ids"], batch["input_ids"])
