"""The Transformer against torch's own, and its search against enumeration of every text."""

from itertools import product

import pytest
import torch
from torch import nn

from bertlab import BertConfig
from bertlab.relatives.transformer import Beam, Transformer, write

START, END = 1, 2
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
CONFIG = BertConfig(vocab_size=9, **SHAPE, hidden_act="relu", max_position_embeddings=8, initializer_range=0.3)
CONFIG = CONFIG.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


def copy_attention(theirs: nn.MultiheadAttention, weights: list, biases: list, out: nn.Linear) -> None:
    theirs.in_proj_weight.copy_(torch.cat(weights))
    theirs.in_proj_bias.copy_(torch.cat(biases))
    theirs.out_proj.load_state_dict(out.state_dict())


def copy_layer(theirs: nn.Module, mine: nn.Module, norms: list[nn.LayerNorm]) -> None:
    """Self-attention, feed-forward and the LayerNorms, in their order."""
    qkv = mine.attention.qkv
    copy_attention(theirs.self_attn, [qkv.weight], [qkv.bias], mine.attention.out)
    theirs.linear1.load_state_dict(mine.feed_forward.up.state_dict())
    theirs.linear2.load_state_dict(mine.feed_forward.down.state_dict())
    for number, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())


@torch.no_grad()
def torchs(model: Transformer) -> nn.Transformer:
    """torch's Transformer with the same weights; without the LayerNorm that it adds at the end of both halves."""
    layers = {"dropout": 0.0, "activation": "relu", "batch_first": True, "layer_norm_eps": CONFIG.layer_norm_eps}
    theirs = nn.Transformer(32, 4, 2, 2, 64, **layers).eval()
    theirs.encoder.norm = theirs.decoder.norm = None
    for mine, layer in zip(model.encoder.layers, theirs.encoder.layers, strict=True):
        copy_layer(layer, mine, [mine.attention_norm, mine.feed_forward_norm])
    for mine, layer in zip(model.layers, theirs.decoder.layers, strict=True):
        copy_layer(layer, mine, [mine.attention_norm, mine.cross_norm, mine.feed_forward_norm])
        cross = mine.cross_attention
        query, both = cross.query, cross.key_value
        copy_attention(layer.multihead_attn, [query.weight, both.weight], [query.bias, both.bias], cross.out)
    return theirs


@torch.no_grad()
def test_it_is_torchs_transformer(model):
    input_ids, target_ids = torch.randint(3, 9, (2, 6)), torch.randint(3, 9, (2, 4))
    mask = torch.tensor([[1] * 6, [1] * 3 + [0] * 3])
    theirs = torchs(model)
    right = nn.Transformer.generate_square_subsequent_mask(4).bool()
    states = theirs(
        model.embeddings(input_ids),
        model.embeddings(target_ids),
        tgt_mask=right,
        src_key_padding_mask=mask == 0,
        memory_key_padding_mask=mask == 0,
    )
    out = model(input_ids, mask, target_ids)
    torch.testing.assert_close(out.logits, model.decoder(states), atol=1e-5, rtol=1e-4)
    assert all((part[1, :, :, 3:] < 1e-6).all() for part in out.cross_attentions)


def test_the_loss_is_smoothed_in_training_alone(model):
    source, target = torch.randint(3, 9, (2, 5)), torch.randint(3, 9, (2, 4))
    labels = target.masked_fill(torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]).bool(), -100)
    out = model(source, torch.ones_like(source), target, labels)
    logs = out.logits.log_softmax(-1)
    right = torch.stack([-logs[row, position, label] for row, position, label in _entries(labels)]).mean()
    torch.testing.assert_close(out.loss, right)
    smooth = model.train()(source, torch.ones_like(source), target, labels).loss
    model.eval()
    every = torch.stack([-logs[row, position].mean() for row, position, _ in _entries(labels)]).mean()
    torch.testing.assert_close(smooth, 0.9 * right + 0.1 * every)


def _entries(labels):
    return [(row, position, int(labels[row, position])) for row, position in (labels != -100).nonzero().tolist()]


def log_probability(model, source, ids) -> float:
    target = torch.tensor([[START, *ids]])
    logits = model(torch.tensor([source]), torch.ones(1, len(source)), target).logits[0].log_softmax(-1)
    return sum(float(logits[position, token]) for position, token in enumerate(ids))


@torch.no_grad()
def test_one_beam_is_the_likeliest_token_again_and_again(model):
    source, ids = [4, 5, 6], []
    while len(ids) < 7 and (not ids or ids[-1] != END):
        logits = model(torch.tensor([source]), torch.ones(1, 3), torch.tensor([[START, *ids]])).logits
        ids.append(int(logits[0, -1].argmax()))
    assert write(model, source, START, END) == [token for token in ids if token != END]


@torch.no_grad()
def test_enough_beams_find_the_best_of_all_texts():
    torch.manual_seed(1)
    small = Transformer(CONFIG.changed(vocab_size=5, max_position_embeddings=4)).eval()  # three tokens at most
    source = [3, 4]
    texts = [ids for n in (1, 2, 3) for ids in product(range(5), repeat=n) if END not in ids[:-1] and ids[-1] == END]
    best = max((Beam(ids, log_probability(small, source, ids)) for ids in texts), key=lambda beam: beam.score)
    assert write(small, source, START, END, beams=125) == list(best.ids[:-1])


def test_it_learns_to_reverse_a_text():
    torch.manual_seed(0)
    small = Transformer(CONFIG.changed(initializer_range=0.1), label_smoothing=0.0).train()
    optimizer = torch.optim.Adam(small.parameters(), lr=3e-3)
    for _ in range(250):
        source = torch.randint(3, 9, (32, 4))
        ends = torch.full((32, 1), END)
        target = torch.cat([torch.full((32, 1), START), source.flip(1)], 1)  # (32, 5)
        loss = small(source, torch.ones_like(source), target, torch.cat([source.flip(1), ends], 1)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tries = torch.randint(3, 9, (20, 4)).tolist()
    assert sum(write(small, ids, START, END, beams=3) == ids[::-1] for ids in tries) >= 17
