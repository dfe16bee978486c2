"""Linear, CNN and CRF: which labels words get, what is learned, what is stored."""

import warnings

import pytest
import torch

from bertlab import BertConfig, BertForTokenClassification, InputError
from bertlab.model.pooling import moved, word_positions
from bertlab.training.engine.micro_batches import micro_batches

DECODERS = ["linear", "cnn", "crf"]
NAMES = dict(enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]))
# Which tokens of the batch (lengths 9, 4, 7) begin a word; [CLS] and [SEP] do not.
FIRST = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1, 0, 0, 0]]).bool()
PATHS = [[0, 1, 2, 0], [3], [1, 2, 3, 4, 0]]


def build(config, decoder, **fields):
    torch.manual_seed(0)
    return BertForTokenClassification(config.changed(token_decoder=decoder, id2label=NAMES, **fields)).double().eval()


def labels():
    out = torch.full(FIRST.shape, -100)
    out[FIRST] = torch.tensor([label for path in PATHS for label in path])
    return out


def test_words_go_to_the_front_and_back_in_their_order():
    x = torch.arange(1, 28).view(3, 9)
    positions = word_positions(FIRST)
    words = moved(x, FIRST, positions)
    assert words.tolist() == [[2, 3, 5, 8, 0], [11, 0, 0, 0, 0], [20, 21, 22, 23, 24]]
    assert moved(words, positions, FIRST).equal(x * FIRST)


@pytest.mark.parametrize("decoder", DECODERS)
def test_one_label_for_each_word(decoder, config, batch):
    model = build(config, decoder)
    out = model(**batch, word_mask=FIRST)
    said = model.decode(out.logits, FIRST)
    assert out.logits.shape == (3, 9, 5) and [len(row) for row in said] == [4, 1, 5]
    if decoder != "crf":
        assert said == [row[first].argmax(-1).tolist() for row, first in zip(out.logits, FIRST, strict=True)]


@pytest.mark.parametrize("decoder", DECODERS)
def test_rows_without_words(decoder, config, batch):
    model, none = build(config, decoder), torch.zeros(3, 9, dtype=torch.bool)
    out = model(**batch, word_mask=none, labels=torch.full((3, 9), -100))
    assert model.decode(out.logits, none) == [[], [], []] and out.loss == 0


def test_the_crf_says_what_its_words_say_together(config, batch):
    """The same words alone, without what stands between them and without the other rows."""
    model = build(config, "crf")
    logits = 5 * model(**batch).logits
    alone = [
        model.crf.decode(row[first][None], torch.ones(1, int(first.sum()), dtype=torch.bool))[0].tolist()
        for row, first in zip(logits, FIRST, strict=True)
    ]
    assert model.decode(logits, FIRST) == alone
    likelihood = [
        model.crf.log_likelihood(row[first][None], torch.tensor([path]), torch.ones(1, len(path), dtype=torch.bool))
        for row, first, path in zip(model(**batch).logits, FIRST, PATHS, strict=True)
    ]
    torch.testing.assert_close(model(**batch, labels=labels()).loss, -sum(likelihood)[0] / 10)


def test_the_cnn_looks_at_the_words_beside(config, batch):
    model = build(config, "cnn")
    states = torch.randn(3, 9, 24, dtype=torch.float64)
    plain = model.convolution(states, FIRST)
    assert not plain[~FIRST].any()
    for row, positions in enumerate(first.nonzero()[:, 0].tolist() for first in FIRST):
        for number, position in enumerate(positions):
            changed = states.clone()
            changed[row, position] += 1
            moved_at = (model.convolution(changed, FIRST) != plain).any(-1).nonzero().tolist()
            assert moved_at == [[row, near] for near in positions[max(0, number - 1) : number + 2]]
    between = states.clone()
    between[~FIRST] += 1
    assert model.convolution(between, FIRST).equal(plain)


def test_the_cnn_must_know_where_words_begin(config, batch):
    with pytest.raises(InputError, match="'cnn' needs word_mask or labels"):
        build(config, "cnn")(**batch)


def test_where_words_begin_fits_the_rows(config, batch):
    model = build(config, "cnn")
    for wrong in (dict(word_mask=FIRST[:, :5]), dict(labels=labels()[:, :5])):
        with pytest.raises(InputError, match=r"must be \(3, 9\), not \(3, 5\)"):
            model(**batch, **wrong)
    with pytest.raises(InputError, match=r"must be \(3, 9\)"):
        model.decode(torch.rand(3, 9, 3), FIRST[:, :5])
    assert torch.equal(model(**batch, word_mask=FIRST.long()).logits, model(**batch, word_mask=FIRST).logits)
    none = {name: tensor[:0] for name, tensor in batch.items()}
    assert model(**none, word_mask=FIRST[:0]).logits.shape == (0, 9, model.config.num_labels)


@pytest.mark.parametrize("decoder", DECODERS)
def test_labels_say_where_words_begin(decoder, config, batch):
    model = build(config, decoder)
    with_labels, told = model(**batch, labels=labels()), model(**batch, word_mask=FIRST)
    torch.testing.assert_close(with_labels.logits[FIRST], told.logits[FIRST])
    assert told.loss is None


@pytest.mark.parametrize("decoder", DECODERS)
def test_parts_of_a_batch_add_up_to_the_whole(decoder, config, batch):
    model = build(config, decoder)
    whole = model(**batch, labels=labels()).loss
    pieces = micro_batches(batch | {"labels": labels()}, 2)
    torch.testing.assert_close(sum(shares["labels"] * model(**part).loss for part, shares in pieces), whole)


@pytest.mark.parametrize("mix", ["last", "concat-last-4", "scalar-mix"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_round_trip(decoder, mix, config, batch, tmp_path):
    model = build(config, decoder, layer_mix=mix, num_hidden_layers=4)
    model.save_pretrained(tmp_path)
    with warnings.catch_warnings(action="error"):
        again = BertForTokenClassification.from_pretrained(tmp_path).double()
    assert again.config == model.config and again.state_dict().keys() == model.state_dict().keys()
    for given in ({"labels": labels()}, {"word_mask": FIRST}):
        one, two = model(**batch, **given), again(**batch, **given)
        torch.testing.assert_close(one.logits, two.logits)
        assert "labels" not in given or float(one.loss) == pytest.approx(float(two.loss))
        assert model.decode(one.logits, FIRST) == again.decode(two.logits, FIRST)


@pytest.mark.parametrize("decoder", ["cnn", "crf"])
def test_a_pretrained_encoder_gets_a_decoder(decoder, checkpoint, batch):
    with pytest.warns(UserWarning, match="word_convolution.weight" if decoder == "cnn" else "crf.start, crf.end"):
        model = BertForTokenClassification.from_pretrained(checkpoint, token_decoder=decoder, id2label=NAMES)
    assert model(**batch, labels=labels()).loss.isfinite()


@pytest.mark.parametrize("decoder", DECODERS)
def test_it_learns_by_heart(decoder):
    torch.manual_seed(0)
    sizes = dict(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    config = BertConfig(**sizes, max_position_embeddings=16, id2label=NAMES, token_decoder=decoder)
    model, ids = BertForTokenClassification(config), torch.randint(5, 40, (3, 9))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        loss = model(ids, labels=labels()).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    assert loss < 0.2 and model.decode(model(ids, word_mask=FIRST).logits, FIRST) == PATHS


@pytest.mark.parametrize("change", [lambda x: x[:, :4], lambda x: x.double(), lambda x: x.masked_fill(FIRST, 5)])
def test_bad_labels_are_told_in_one_line(change, config, batch):
    with pytest.raises(InputError, match="labels"):
        build(config, "crf")(**batch, labels=change(labels()))


def test_bfloat16_autocast(config, batch):
    model = build(config, "crf").float()
    exact = model(**batch, labels=labels()).loss
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**batch, labels=labels()).loss
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, exact, rtol=0.1, atol=0.1)
