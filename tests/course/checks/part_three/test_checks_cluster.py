"""The checkers of chapter 17 pass right answers and name the mistake of each known wrong one."""

import torch

from bertlab.course import (
    check_accumulated_step,
    check_attainable,
    check_checkpointed,
    check_ring_all_reduce,
    check_round_to_bfloat16,
    check_step_operations,
)
from bertlab.course.checks.part_three.parallel import _accumulate
from bertlab.course.solutions.accumulation import accumulated_step
from tests.course.checks.checking import checker_tests


def operations(layers, hidden, words, lengths, labels, each=6, square=None, at=None, attention=12):
    weights = layers * 12 * hidden**2
    pairs = sum(n * n for n in lengths) if square is None else square(lengths)
    head = (hidden**2 + hidden * words) * (labels if at is None else at(lengths))
    return each * weights * sum(lengths) + each / 6 * attention * layers * hidden * pairs + each * head


def slipped(**options):
    return lambda *given: operations(*given, **options)


def roof(operations, moved, peak, bandwidth):
    return min(peak, operations / moved * bandwidth)


def nearest(x):
    bits = x.view(torch.int32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000).view(torch.float32)


def ring(chunks, send, rounds=2, add=True, add_again=False, first=1):
    count = len(chunks)
    for turn in range(rounds):
        for step in range(count - 1):
            came = [send(p, chunks[p][(p - step + turn * first) % count]) for p in range(count)]
            for p, part in enumerate(came):
                right, c = (p + 1) % count, (p - step + turn * first) % count
                adding = add if turn == 0 else add_again
                chunks[right][c] = chunks[right][c] + part if adding else part
    return chunks


def everything(chunks, send):
    """Each process hands its whole vector on, N - 1 times."""
    count = len(chunks)
    sums = [list(own) for own in chunks]
    for _ in range(count - 1):
        chunks = [[send((p - 1) % count, part) for part in chunks[(p - 1) % count]] for p in range(count)]
        sums = [[a + b for a, b in zip(own, came, strict=True)] for own, came in zip(sums, chunks, strict=True)]
    return sums


def peeking(chunks, send):
    count = len(chunks)
    return [[sum(own[c] for own in chunks) for c in range(count)] for _ in range(count)]


class Checkpointed(torch.autograd.Function):
    again, learns, records, forks, copied, counted = True, True, True, True, True, 1

    @classmethod
    def forward(cls, ctx, layer, x):
        ctx.layer, ctx.draws = layer, torch.get_rng_state()
        ctx.save_for_backward(x)
        return layer(x)

    @classmethod
    def backward(cls, ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_(cls.copied)
        with torch.random.fork_rng(devices=[], enabled=cls.forks), torch.set_grad_enabled(cls.records):
            if cls.again:
                torch.set_rng_state(ctx.draws)
            for _ in range(cls.counted):
                y = ctx.layer(x)
        if cls.learns:
            y.backward(grad)
            return None, x.grad
        return None, torch.autograd.grad(y, x, grad)[0]


class OtherDraws(Checkpointed):
    again = False


class Unrecorded(Checkpointed):
    records = False


class Draws(Checkpointed):
    forks = False


class WithoutGradient(Checkpointed):
    copied = False


class WithoutWeights(Checkpointed):
    learns = False


class Twice(Checkpointed):
    counted = 2


RIGHT = {
    check_step_operations: operations,
    check_attainable: roof,
    check_round_to_bfloat16: nearest,
    check_accumulated_step: accumulated_step,
    check_ring_all_reduce: ring,
    check_checkpointed: Checkpointed.apply,
}
MISTAKES = {
    check_step_operations: {
        "the forward pass alone": slipped(each=2),
        "two operations for each pair of numbers": slipped(each=3),
        "attention is missing": slipped(attention=0),
        "head is missing": slipped(at=lambda lengths: 0),
        "need not run at every token": slipped(at=sum),
        "sum the squares": slipped(square=lambda lengths: sum(lengths) ** 2),
        "n squared, not n": slipped(square=sum),
        "2 + 4 = 6": slipped(each=4),
        "in the forward pass alone, 4 n² H": slipped(attention=4),
        "belongs to the weights alone": slipped(attention=72),
        "every layer has attention": lambda layers, h, *given: (
            operations(layers, h, *given) - 12 * (layers - 1) * h * sum(n * n for n in given[1])
        ),
        "before the decoder": lambda n, h, words, *given: operations(n, h, words, *given) - 6 * h * h * given[1],
        "padding needs no operations": lambda n, h, words, lengths, labels: operations(
            n, h, words, [max(lengths)] * len(lengths), labels
        ),
        "a layer has 12 H²": lambda n, h, *given: operations(n, h, *given) - 36 * n * h * h * sum(given[1]),
        "you have": slipped(attention=24),
        "return a number": lambda *given: None,
    },
    check_attainable: {
        "the lower of the two": lambda o, m, p, b: max(p, o / m * b),
        "intensity x bandwidth": lambda o, m, p, b: o / m * b,
        "not a share": lambda o, m, p, b: roof(o, m, p, b) / p,
        "not bytes over operations": lambda o, m, p, b: m / o * b,
        "intensity is in operations for each byte": lambda o, m, p, b: min(p, o / m),
        "bandwidth is in bytes": lambda o, m, p, b: min(p, b),
        "the two times are added": lambda o, m, p, b: o / (o / p + m / b),
    },
    check_round_to_bfloat16: {
        "nothing was rounded": lambda x: x.clone(),
        "that cuts off": lambda x: (x.view(torch.int32) & -0x10000).view(torch.float32),
        "take the even one": lambda x: ((x.view(torch.int32) + 0x8000) & -0x10000).view(torch.float32),
        "always go down": lambda x: ((x.view(torch.int32) + 0x7FFF) & -0x10000).view(torch.float32),
        "that is float16": lambda x: x.half().float(),
        "return float32": lambda x: x.bfloat16(),
        "changed the tensor": lambda x: x.copy_(x.bfloat16()),
        "not the nearest": lambda x: (x * 2).bfloat16().float(),
    },
    check_accumulated_step: {
        "the mean of the parts' means": _accumulate("mean of means"),
        "the parts' means were added": _accumulate("sum of means"),
        "its share of the rows": _accumulate("rows"),
        "one step for each part": _accumulate("steps"),
        "each part's gradient was clipped": _accumulate("clip each"),
        "the gradient was not clipped": _accumulate("no clip"),
        "only the last part": _accumulate("last"),
        "both losses are divided": _accumulate("words for all"),
        "mean over its pairs": _accumulate("mean of pairs"),
        "loss of the pairs is missing": _accumulate("no pairs"),
        "clipped to 1": _accumulate("clip at 1"),
        "zero_grad() is missing": _accumulate("kept"),
        "the last part may be smaller": lambda model, optimizer, batch, rate, rows, clip: accumulated_step(
            model, optimizer, {name: tensor[:rows] for name, tensor in batch.items()}, rate, rows, clip
        ),
        "4 rows went through the model at once": lambda *given: accumulated_step(*given[:4], 4, given[5]),
        "have not moved": lambda *given: 1.0,
        "as a float": lambda *given: torch.tensor(accumulated_step(*given)),
        "the loss is not": lambda *given: accumulated_step(*given) / 2,
    },
    check_ring_all_reduce: {
        "the sum of one chunk": lambda chunks, send: ring(chunks, send, rounds=1),
        "it replaces": lambda chunks, send: ring(chunks, send, add_again=True),
        "begin the second with": lambda chunks, send: ring(chunks, send, first=0),
        "numbers of a vector": everything,
        "nothing was sent": peeking,
        "no sum is left": lambda chunks, send: ring(chunks, send, add=False),
        "the sum of any chunk": lambda chunks, send: [[send(0, 0 * part) for part in own] for own in chunks],
        "list of processes": lambda chunks, send: chunks[0],
    },
    check_checkpointed: {
        "the same dropout": OtherDraws.apply,
        "the weights of the layer have no gradient": WithoutWeights.apply,
        "Record the second run": Unrecorded.apply,
        "random numbers of the rest": Draws.apply,
        "the input has no gradient": WithoutGradient.apply,
        "ran 3 times": Twice.apply,
        "were kept": lambda layer, x: layer(x),
        "with a gradient": lambda layer, x: layer(x).detach(),
        "not that of the layer": lambda layer, x: x * 1.0,
    },
}

test_right, test_mistake = checker_tests(RIGHT, MISTAKES)
