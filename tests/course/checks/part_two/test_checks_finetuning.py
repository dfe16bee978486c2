"""The checkers of fine-tuning pass right answers and name the mistake of each known wrong one."""

import random
from itertools import islice

import torch
import torch.nn.functional as F

from bertlab.course import check_expected_best, check_finetune, check_layer_shares, check_smooth_loss
from bertlab.course.solutions import one_sentence as solution
from tests.course.checks.checking import checker_tests, not_begun_test

# Loop


def loop(model, batches, steps, rate=1e-3, warmup=0.1, clip=1.0, on_step=None, shares=None, slip=""):
    """Right in another way, or with a slip."""
    optimizers = [(solution.AdamW(module), share) for module, share in shares or [(model, 1.0)]]
    if slip != "eval":
        model.train()
    taken = enumerate(batches) if slip == "all" else enumerate(islice(batches, steps))
    for step, batch in taken:
        for optimizer, _ in optimizers:
            if slip != "no zero":
                optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        every = [weight for optimizer, _ in optimizers for weight in optimizer.parameters]
        if slip == "by value":
            torch.nn.utils.clip_grad_value_(every, clip)
        elif slip != "no clip":
            torch.nn.utils.clip_grad_norm_(every, clip)
        factor = 1.0 if slip == "flat" else solution.rate_share((step + (slip != "late") / 2) / steps, warmup)
        for optimizer, share in optimizers:
            if slip != "no step":
                optimizer.step(rate * factor * (1 if slip == "no shares" else share))
        if on_step:
            on_step(step, loss if slip == "tensor" else loss.item())
    return None if slip == "nothing" else model if slip == "train" else model.eval()


def slipped(slip):
    return lambda *args: loop(*args, slip=slip)


LOOPS = {
    "the same in every step": slipped("flat"),
    "the first step has no rate": slipped("late"),
    "zero_grad() is missing": slipped("no zero"),
    "was not clipped": slipped("no clip"),
    "each number of the gradient": slipped("by value"),
    "the shares are not used": slipped("no shares"),
    "not in training mode": lambda model, *args: loop(model.eval(), *args, slip="eval"),
    "still in training mode": slipped("train"),
    "you took more batches": slipped("all"),
    "no weight has moved": slipped("no step"),
    "as a float": slipped("tensor"),
    "return the model": slipped("nothing"),
}


def test_a_loop_that_clears_the_gradients_first_is_right():
    check_finetune(loop)


# Shares


def shares(model, decay, change=lambda depth: depth, top=True, embeddings=True):
    blocks = [model.bert.embeddings, *model.bert.encoder.layers]
    found = [(block, decay ** change(len(blocks) - 1 - number)) for number, block in enumerate(blocks)]
    rest = [(model.bert.pooler, 1.0), (model.classifier, 1.0), (model.dropout, 1.0)] if top else []
    return found[0 if embeddings else 1 :] + rest


SHARES = {
    "upside down": lambda model, decay: shares(model, decay, lambda depth: 3 - depth),
    "a share of 1; yours has 0.5": lambda model, decay: shares(model, decay, lambda depth: depth + 1),
    "classifier is in none": lambda model, decay: shares(model, decay, top=False),
    "embeddings is in none": lambda model, decay: shares(model, decay, embeddings=False),
    "moved twice": lambda model, decay: [*shares(model, decay), (model.bert, 1.0)],
    "a step below the first layer": lambda model, decay: shares(model, decay, lambda depth: min(depth, 2)),
    "should be [0.125, 0.25, 0.5, 1]": lambda model, decay: shares(model, decay, lambda depth: 2 * depth),
    "a list of pairs": lambda model, decay: dict(shares(model, decay)),
}


def test_shares_written_in_another_way_are_right():
    check_layer_shares(shares)


# Smoothing


def smooth(logits, labels, smoothing, target=None, read=lambda logits: logits.log_softmax(-1)):
    hot = torch.eye(logits.size(-1))[labels]
    target = target or (lambda hot, s, n: (1 - s) * hot + s / n)
    return -(target(hot, smoothing, logits.size(-1)) * read(logits)).sum(1).mean()


def smoothed_by(target):
    return lambda logits, labels, smoothing: smooth(logits, labels, smoothing, target)


SMOOTHING = {
    "is not used": smoothed_by(lambda hot, s, n: hot),
    "among the wrong classes": smoothed_by(lambda hot, s, n: (1 - s) * hot + s / (n - 1) * (1 - hot)),
    "smoothing / N, not all": smoothed_by(lambda hot, s, n: (1 - s) * hot + s),
    "should go to all classes": smoothed_by(lambda hot, s, n: (1 - s) * hot),
    "taken from the right one": smoothed_by(lambda hot, s, n: hot + s / n),
    "the other way round": smoothed_by(lambda hot, s, n: s * hot + (1 - s) / n),
    "take their mean": lambda logits, labels, s: smooth(logits, labels, s) * len(labels),
    "sum over the classes": lambda logits, labels, s: smooth(logits, labels, s) / logits.size(-1),
    "these are logits": lambda logits, labels, s: smooth(logits, labels, s, read=lambda x: x),
    "these are probabilities": lambda logits, labels, s: smooth(logits, labels, s, read=lambda x: x.softmax(-1)),
    "the sign": lambda logits, labels, s: -smooth(logits, labels, s),
    "one number": lambda logits, labels, s: F.cross_entropy(logits, labels, label_smoothing=s, reduction="none"),
}


def test_smoothing_written_out_is_right():
    check_smooth_loss(smooth)


# The best of k


def best(accuracies, k):
    ordered, n = sorted(accuracies), len(accuracies)
    return sum(value * (((i + 1) / n) ** k - (i / n) ** k) for i, value in enumerate(ordered))


def simulated(accuracies, k):
    """Right in another way."""
    rng = random.Random(0)
    return sum(max(rng.choices(accuracies, k=k)) for _ in range(20_000)) / 20_000


def unsorted(accuracies, k):
    n = len(accuracies)
    return sum(value * (((i + 1) / n) ** k - (i / n) ** k) for i, value in enumerate(accuracies))


def sorts_in_place(accuracies, k):
    accuracies.sort()
    return best(accuracies, k)


def without_replacement(accuracies, k):
    from itertools import combinations

    sets = list(combinations(accuracies, min(k, len(accuracies))))
    return sum(map(max, sets)) / len(sets)


BEST = {
    "the best of all runs": lambda accuracies, k: max(accuracies),
    "the mean of all runs": lambda accuracies, k: sum(accuracies) / len(accuracies),
    "without replacement": without_replacement,
    "sort the accuracies": unsorted,
    "changed the list": sorts_in_place,
    "i counts from 1": lambda accuracies, k: sum(
        value * ((i / 4) ** k - ((i - 1) / 4) ** k) for i, value in enumerate(sorted(accuracies))
    ),
    "the best of one run is the mean": lambda accuracies, k: best(accuracies, k + 1),
    "return a number": lambda accuracies, k: sorted(accuracies)[-k:],
    "the best of 500 runs": lambda accuracies, k: best(accuracies, min(k, 3)),
}


def test_a_simulation_is_right():
    check_expected_best(simulated)


RIGHT = {
    check_finetune: solution.finetune,
    check_layer_shares: solution.layer_shares,
    check_smooth_loss: lambda logits, labels, s: F.cross_entropy(logits, labels, label_smoothing=s),
    check_expected_best: best,
}
MISTAKES = {
    check_finetune: LOOPS,
    check_layer_shares: SHARES,
    check_smooth_loss: SMOOTHING,
    check_expected_best: BEST,
}
test_right, test_mistake = checker_tests(RIGHT, MISTAKES)


def test_the_global_random_state_is_left_alone():
    state = torch.get_rng_state()
    check_finetune(solution.finetune)
    assert torch.equal(state, torch.get_rng_state())


test_what_is_not_begun_is_called_so = not_begun_test([check_finetune, check_smooth_loss])
