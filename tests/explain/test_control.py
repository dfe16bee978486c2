import threading

import pytest
import torch

from bertlab.explain.ablation import random_control


def alike(first, second) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(ours, theirs) for ours, theirs in pairs)


@pytest.mark.parametrize("name", ["model", "reader", "classifier", "tagger"])
def test_it_is_the_model_that_the_global_seed_would_give(name, request):
    model = request.getfixturevalue(name)
    torch.manual_seed(3)
    expected = type(model)(model.config)
    before = torch.get_rng_state()
    control = random_control(model, seed=3)
    assert alike(control, expected) and not control.training and control.config == model.config
    assert torch.equal(torch.get_rng_state(), before)
    assert not alike(control, random_control(model, seed=4))


def test_what_other_threads_draw_changes_nothing(model):
    expected, over = random_control(model), threading.Event()

    def disturb():
        while not over.is_set():
            torch.rand(10)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        assert all(alike(random_control(model), expected) for _ in range(20))
    finally:
        over.set()
        thread.join()
