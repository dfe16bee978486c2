"""Checkers of chapter 17: operations, the roofline, bfloat16, accumulation, the ring, checkpointing."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.course.checks.base import checker, close, expect, random_tensor, run
from bertlab.course.checks.part_one.training import GradientDescent, all_weights, small_model
from bertlab.training.engine.throughput import operations_by_part

Numbers = list[tuple[float, str]]


def _not_one_of(result: float, known: Numbers) -> None:
    for wrong, message in known:
        expect(abs(result - wrong) > 1e-6 * abs(wrong), message)


def _number(result: Any) -> float:
    expect(isinstance(result, int | float), "return a number.")
    return float(result)


@checker
def check_step_operations(fn: Callable[..., float]) -> None:
    """Check fn(layers, hidden, vocabulary, lengths, labels) -> the operations of a training step, with feed-forward
    layers four times as wide as the hidden size."""
    for sizes in ((2, 16, 50, [9, 4, 7], 3), (3, 32, 40, [5, 5], 2)):
        layers, hidden, words, lengths, labels = sizes
        config = BertConfig(words, hidden, layers, 2, 4 * hidden)
        tokens, pairs = sum(lengths), sum(n * n for n in lengths)

        def of(tokens=tokens, pairs=pairs, labels=labels, config=config) -> float:
            return sum(operations_by_part(config, tokens, pairs, labels).values())

        given, right = _number(run(fn, layers, hidden, words, list(lengths), labels)), of()
        known = [
            (right / 3, "that is the forward pass alone: backward takes two products for each one of it."),
            (right / 2, "a product of matrices multiplies *and* adds: two operations for each pair of numbers."),
            (of(pairs=0), "attention is missing: scores and context, for each pair of tokens of one text."),
            (of(labels=0), "the masked-word head is missing: a layer of H x H, and the decoder, H x V."),
            (of(labels=tokens), "the decoder need not run at every token: its loss asks for the masked ones alone."),
            (of(pairs=tokens**2), "attention stays inside a text: sum the squares of the lengths."),
            (of(pairs=tokens), "each token of a text meets all n tokens of it: n squared, not n."),
        ]
        _not_one_of(given, known)
        expect(abs(given - right) < 1e-6 * right, f"for {sizes} the step takes {right:,.0f}, you have {given:,.0f}.")
    print("Right: 6 for each weight and token, and the pairs of attention.")


@checker
def check_attainable(fn: Callable[[float, float, float, float], float]) -> None:
    """Check fn(operations, moved, peak, bandwidth) -> the highest rate that the roofline allows."""
    for operations, moved, peak, bandwidth in ((100.0, 50.0, 30.0, 10.0), (800.0, 10.0, 30.0, 10.0)):
        given = _number(run(fn, operations, moved, peak, bandwidth))
        slope, right = operations / moved * bandwidth, min(peak, operations / moved * bandwidth)
        known = [
            (max(peak, slope), "both limits hold at once, the peak and intensity x bandwidth: the lower of the two."),
            (moved / operations * bandwidth, "the intensity is operations over bytes, not bytes over operations."),
            (min(peak, operations / moved), "intensity is in operations for each byte: times bytes for each second."),
            (right / peak, "return a rate, not a share of the peak."),
        ]
        _not_one_of(given, [(wrong, message) for wrong, message in known if abs(wrong - right) > 1e-6])
        expect(abs(given - right) < 1e-6 * right, f"the roof is at {right:g}, you have {given:g}.")
    print("Right: a slope of bandwidth, then a flat roof at the peak.")


@checker
def check_round_to_bfloat16(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(x (N,) float32) -> the nearest bfloat16, as float32; ties go to the even one."""
    ties = torch.tensor([1 + 2.0**-8, 1 + 3 * 2.0**-8, -(1 + 2.0**-8)])  # in the middle between two
    x = torch.cat([random_tensor(200), 1e-30 * random_tensor(20), torch.tensor([0.0, 1.0, 3.4e38]), ties])
    given = x.clone()
    result = run(fn, given)
    expect(isinstance(result, Tensor) and result.shape == x.shape, "return a tensor of the same shape.")
    expect(torch.equal(given, x), "your function changed the tensor it was given: work on a copy.")
    expect(result.dtype == torch.float32, "return float32 numbers, of which bfloat16 would lose nothing.")
    bits = x.view(torch.int32)
    up = ((bits + 0x8000) & -0x10000).view(torch.float32)
    none = torch.equal(result, x)
    expect(not none, "nothing was rounded: the lower 16 bits have to go.")
    cut = (bits & -0x10000).view(torch.float32)
    expect(not torch.equal(result, cut), "that cuts off: rounding goes to the nearest, up if the rest is above half.")
    expect(not torch.equal(result, up), "exactly in the middle between two, take the even one: its last bit is 0.")
    expect(not torch.equal(result, x.half().float()), "that is float16: 5 bits of exponent and 10 behind the point.")
    expect(torch.equal(result, x.bfloat16().float()), "some numbers are not the nearest bfloat16.")
    print("Right: the nearest of the numbers that 8 bits of precision can write.")


# Accumulation


def _uneven_batch() -> dict[str, Tensor]:
    """Four rows with 4, 1, 2 and 1 masked tokens."""
    ids = 5 + torch.arange(24).view(4, 6) % 25
    labels = torch.full_like(ids, IGNORED)
    for row, count in enumerate((4, 1, 2, 1)):
        labels[row, :count] = ids[row, :count]
    batch = {"input_ids": ids.masked_fill(labels > 0, 4), "labels": labels}
    batch |= {"token_type_ids": torch.zeros_like(ids), "attention_mask": torch.ones_like(ids)}
    return batch | {"next_sentence_label": torch.tensor([0, 1, 1, 0])}


ACCUMULATION_SLIPS = [
    ("the mean of the parts' means: each masked token counts alike, wherever it stands. Divide the sum of the "
     "losses by the number of masked tokens of the whole batch.", "mean of means"),
    ("the parts' means were added: that is too much by about the number of parts.", "sum of means"),
    ("each part has its share of the rows: right for pairs, but masked tokens are not spread like rows.", "rows"),
    ("one step for each part: step once, after the last backward().", "steps"),
    ("each part's gradient was clipped: clip once, the sum.", "clip each"),
    ("the gradient was not clipped.", "no clip"),
    ("only the last part was learned from: do not clear the gradients before the step.", "last"),
]  # fmt: skip


def _accumulate(slip: str) -> Callable[..., float]:
    """The step as it should be, or with a slip."""

    def step(model, optimizer, batch, rate, rows, clip):
        count, total = len(batch["input_ids"]), 0.0
        starts = range(0, count, rows)
        for start in starts:
            part = {name: tensor[start : start + rows] for name, tensor in batch.items()}
            logits = model(part["input_ids"], part["attention_mask"], part["token_type_ids"])
            sums = [
                F.cross_entropy(logits[0].flatten(0, 1), part["labels"].flatten(), reduction="sum"),
                F.cross_entropy(logits[1], part["next_sentence_label"], reduction="sum"),
            ]
            pair = zip(sums, ("labels", "next_sentence_label"), strict=True)
            losses = [(value, *((each[name] != IGNORED).sum() for each in (part, batch))) for value, name in pair]
            share = {"mean of means": 1 / len(starts), "sum of means": 1.0, "rows": len(part["labels"]) / count}.get(
                slip
            )
            loss = sum(value / whole if share is None else share * value / own for value, own, whole in losses)
            if slip == "last":
                optimizer.zero_grad()
            loss.backward()
            total += loss.item()
            if slip == "clip each":
                torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
            if slip == "steps":
                optimizer.step(rate)
                optimizer.zero_grad()
        if slip not in ("clip each", "no clip"):
            torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
        optimizer.step(rate)
        optimizer.zero_grad()
        return total

    return step


def _after(fn: Callable[..., float], clip: float) -> tuple[Tensor, float, list[int]]:
    """The weights after one step, the loss, and how many rows each call of the model had."""
    model, seen = small_model(), []
    model.register_forward_pre_hook(lambda module, given: seen.append(len(given[0])))
    batch = _uneven_batch()
    loss = run(fn, model, GradientDescent(model), dict(batch), 0.5, 3, clip)
    return all_weights(model), loss, seen


@checker
def check_accumulated_step(fn: Callable[..., float]) -> None:
    """Check fn(model, optimizer, batch, rate, rows, clip) -> the loss (float): one step by the gradient of the whole
    batch, with at most `rows` rows in the model at a time."""
    for clip in (100.0, 0.1):
        mine, loss, seen = _after(fn, clip)
        expect(isinstance(loss, float), "return the loss of the whole batch as a float.")
        expect(max(seen, default=0) <= 3, f"{max(seen, default=0)} rows went through the model at once, `rows` was 3.")
        right, wanted, _ = _after(_accumulate(""), clip)
        if close(mine, right):
            expect(sum(seen) == 4, f"of 4 rows {sum(seen)} went through the model.")
            expect(abs(loss - wanted) < 1e-4, "the weights are right, the loss is not: that of the whole batch.")
            continue
        expect(not close(mine, all_weights(small_model())), "the weights have not moved: step(rate) after the parts.")
        for message, slip in ACCUMULATION_SLIPS:
            expect(not close(mine, _after(_accumulate(slip), clip)[0]), message)
        expect(False, "the weights moved, but not to where train_step on the whole batch leads.")
    print("Right: the step of the whole batch, a few rows at a time.")


# The ring


@checker
def check_ring_all_reduce(fn: Callable[..., list]) -> None:
    """Check fn(chunks, send) -> the chunks that each process ends with: the sums, chunks[p][c] being part c of process
    p's vector, and send(p, tensor) what the process right of p gets of it."""
    for processes in (2, 4):
        chunks = [[random_tensor(3, seed=10 * p + c) for c in range(processes)] for p in range(processes)]
        sums = [torch.stack([own[c] for own in chunks]).sum(0) for c in range(processes)]
        sent = [0] * processes

        def send(process: int, tensor: Tensor, sent=sent) -> Tensor:
            sent[process] += tensor.numel()
            return tensor.clone()

        result = run(fn, [[part.clone() for part in own] for own in chunks], send)
        right = isinstance(result, list) and len(result) == processes and all(len(own) == processes for own in result)
        expect(right, "return a list of processes, each a list of its chunks.")
        expect(any(sent), "nothing was sent: processes see each other's numbers through send() alone.")
        done = [[close(result[p][c], sums[c]) for c in range(processes)] for p in range(processes)]
        if not all(map(all, done)):
            full = [sum(row) for row in done]
            expect(set(full) != {1}, "each process has the sum of one chunk: now pass these sums around the ring.")
            expect(full != [0] * processes, "no process has the sum of any chunk: add what arrives to your own.")
            expect(False, f"of {processes} sums, the processes have {full}.")
        least = 2 * (processes - 1) * 3
        expect(
            max(sent) <= least,
            f"process 0 sent {sent[0]} numbers of a vector of {3 * processes}; {least} are enough: one chunk a round, "
            "N - 1 rounds to add and N - 1 to hand the sums on.",
        )
    print("Right: everybody has the sum and sent less than twice the vector, however many they are.")


# Checkpointing


class _Noisy(nn.Module):
    """A layer with weights, dropout, and an inside that is large."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng([]):
            torch.manual_seed(0)
            self.up, self.down = nn.Linear(8, 64), nn.Linear(64, 8)
        self.dropout, self.calls = nn.Dropout(0.5), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x + self.down(self.dropout(F.gelu(self.up(x))))


def _gradients(call: Callable[[nn.Module, Tensor], Tensor]) -> tuple[list[Tensor | None], int, int, Tensor]:
    """Gradients of input and weights, calls of the layer, numbers kept for backward, and the output."""
    layer, kept = _Noisy().train(), []
    x = random_tensor(5, 8).requires_grad_()
    weights = {parameter.data_ptr() for parameter in layer.parameters()}

    def pack(tensor: Tensor) -> Tensor:
        kept.append(0 if tensor.data_ptr() in weights else tensor.numel())
        return tensor

    with torch.random.fork_rng([]):
        torch.manual_seed(1)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            output = run(call, layer, x)
        numbers = sum(kept)
        torch.rand(3)  # what the layers above draw meanwhile
        expect(isinstance(output, Tensor) and output.requires_grad, "return the output of the layer, with a gradient.")
        try:
            (output * random_tensor(5, 8, seed=3)).sum().backward()
        except NotImplementedError:
            raise
        except RuntimeError as error:
            expect(False, f"backward() stopped: {str(error).partition(chr(10))[0]}")
    return [x.grad, *(parameter.grad for parameter in layer.parameters())], layer.calls, numbers, output.detach()


@checker
def check_checkpointed(fn: Callable[[nn.Module, Tensor], Tensor]) -> None:
    """Check fn(layer, x) -> layer(x), keeping x alone for the backward pass, in which the layer runs again."""
    wanted, _, everything, output = _gradients(lambda layer, x: layer(x))
    found, calls, kept, mine = _gradients(fn)
    expect(close(mine, output), "the output is not that of the layer.")
    expect(found[0] is not None, "the input has no gradient.")
    expect(all(grad is not None for grad in found), "the weights of the layer have no gradient.")
    expect(kept < everything / 4, f"{kept} numbers were kept for backward; the input alone has 40.")
    expect(calls == 2, f"the layer ran {calls} times: once forward, once more in backward.")
    same = all(close(a, b) for a, b in zip(found, wanted, strict=True) if a is not None and b is not None)
    expect(same, "the gradients are not those of the layer. Does the second run draw the same dropout as the first? "
           "torch.get_rng_state() before the first, torch.set_rng_state() before the second.")  # fmt: skip
    print("Right: the same gradients, and only the input was kept.")
