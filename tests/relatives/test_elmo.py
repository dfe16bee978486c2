"""ELMo: a direction never sees the other side; the LSTM is that of the equations; features are mixed and frozen."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import BertConfig
from bertlab.relatives.elmo import Elmo, reversed_order
from bertlab.relatives.encoders import WithBiLSTM

CONFIG = BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, hidden_dropout_prob=0.0)
D = CONFIG.hidden_size // 2


def new(config: BertConfig = CONFIG) -> Elmo:
    torch.manual_seed(0)
    return Elmo(config.changed(initializer_range=0.5)).eval()


MODEL = new()
TEXTS = st.lists(st.lists(st.integers(1, 19), min_size=1, max_size=6), min_size=1, max_size=3)


def batch(texts) -> tuple[torch.Tensor, torch.Tensor]:
    size = max(map(len, texts))
    ids = torch.tensor([text + [0] * (size - len(text)) for text in texts])
    return ids, torch.tensor([[1] * len(text) + [0] * (size - len(text)) for text in texts])


@given(TEXTS)
@torch.no_grad()
def test_states_do_not_depend_on_the_batch_or_its_padding(texts):
    together = MODEL(*batch(texts)).hidden_states
    for row, text in enumerate(texts):
        alone = MODEL(*batch([text])).hidden_states
        for one, all_ in zip(alone, together, strict=True):
            torch.testing.assert_close(all_[row, : len(text)], one[0], atol=1e-6, rtol=1e-5)


@given(st.lists(st.integers(1, 19), min_size=2, max_size=7), st.data())
@torch.no_grad()
def test_a_direction_never_sees_the_other_side(text, data):
    position = data.draw(st.integers(0, len(text) - 1))
    other = [*text[:position], text[position] % 19 + 1, *text[position + 1 :]]
    for a, b in zip(MODEL(*batch([text])).hidden_states[1:], MODEL(*batch([other])).hidden_states[1:], strict=True):
        left, right = (a[0, :, :D] - b[0, :, :D]).abs().amax(-1), (a[0, :, D:] - b[0, :, D:]).abs().amax(-1)  # (S,)
        assert (left[:position] == 0).all() and (right[position + 1 :] == 0).all()
        assert left[position] > 0 and right[position] > 0


def test_positions_from_the_last_to_the_first():
    assert reversed_order(torch.tensor([4, 2]), 4).tolist() == [[3, 2, 1, 0], [1, 0, 2, 3]]


@torch.no_grad()
def test_the_lstm_is_that_of_the_equations():
    """Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000)."""
    ids, _ = batch([[3, 1, 4, 1, 5]])
    lstm, x = MODEL.lefts[0], MODEL.word(ids)[0]  # (S, D)
    h = c = torch.zeros(D)
    for position in range(5):
        gates = lstm.weight_ih_l0 @ x[position] + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
        enter, forget, new_, out = gates.chunk(4)
        c = forget.sigmoid() * c + enter.sigmoid() * new_.tanh()
        h = out.sigmoid() * c.tanh()
        torch.testing.assert_close(MODEL(ids).hidden_states[1][0, position, :D], h)


@torch.no_grad()
def test_the_losses_are_those_of_the_next_and_of_the_previous_token():
    texts = [[3, 1, 4, 1, 5], [9, 2, 6]]
    out = MODEL(*batch(texts), predict=True)
    ahead, behind = [], []
    for row, text in enumerate(texts):
        logs = [
            MODEL.decoder(out.hidden_states[-1][row, :, part]).log_softmax(-1) for part in (slice(D), slice(D, None))
        ]
        ahead += [-logs[0][position, text[position + 1]] for position in range(len(text) - 1)]
        behind += [-logs[1][position, text[position - 1]] for position in range(1, len(text))]
    torch.testing.assert_close(out.forward_loss, torch.stack(ahead).mean())
    torch.testing.assert_close(out.backward_loss, torch.stack(behind).mean())
    torch.testing.assert_close(out.loss, torch.stack(ahead + behind).mean())


@torch.no_grad()
def test_features_are_a_mix_under_a_bilstm_and_the_language_models_stay_frozen():
    features = WithBiLSTM(new(), CONFIG, "scalar-mix").train()
    trained = {name.split(".")[0] for name, p in features.named_parameters() if p.requires_grad}
    assert trained == {"mix", "lstm"} and not features.model.training and features.lstm.training
    ids, mask = batch([[3, 1, 4], [1, 5]])
    states = torch.stack(features.model(ids, mask).hidden_states)
    with torch.enable_grad():
        features(ids, mask).last_hidden_state.sum().backward()
    assert features.model.word.weight.grad is None and features.mix.weight.grad is not None
    features.mix.weight[:] = torch.tensor([0.0, 50.0, 0.0])
    alone = features.lstm(states[1][1:, :2])[0]  # the second text, without its padding
    torch.testing.assert_close(features(ids, mask).last_hidden_state[1:, :2], alone, atol=1e-5, rtol=1e-4)


def test_it_learns_what_one_side_decides_and_no_more():
    """Texts of a b ... where the second token is the first plus one: the left knows the second, the right the first."""
    model, generator = new(CONFIG.changed(vocab_size=12)).train(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        first = torch.randint(1, 11, (32, 1), generator=generator)
        out = model(torch.cat([first, first + 1], 1), predict=True)
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    assert float(out.forward_loss) < 0.5 and float(out.backward_loss) < 0.5
