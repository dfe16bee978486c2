"""Checkers of chapter 17, what makes a large batch fit: accumulation, the ring, checkpointing."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.course.chapter_08.exercises.step import GradientDescent
from bertlab.course.checks.base import checker, close, expect, random_tensor, run
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.config import Config

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
    ("both losses are divided by the masked tokens: divide that of the pairs by their number.", "words for all"),
    ("each part's mean over its pairs was added: divide their sum by the pairs of the whole batch.", "mean of pairs"),
    ("the loss of the pairs is missing: train_step adds both losses.", "no pairs"),
    ("the norm is clipped to 1: use the `clip` that you are given.", "clip at 1"),
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
            (words, _, all_words), (pairs, own_pairs, _) = losses
            if slip == "words for all":
                loss = (words + pairs) / all_words
            elif slip in ("mean of pairs", "no pairs"):
                loss = words / all_words + (pairs / own_pairs if slip == "mean of pairs" else 0)
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
            torch.nn.utils.clip_grad_norm_(optimizer.parameters, 1.0 if slip == "clip at 1" else clip)
        optimizer.step(rate)
        if slip != "kept":
            optimizer.zero_grad()
        return total

    return step


def _after(fn: Callable[..., float], clip: float, steps: int = 1) -> tuple[Tensor, float, list[int]]:
    """The weights after some steps, the loss of the last, and how many rows each call of the model had in it."""
    model, loss = small_model(), 0.0
    optimizer, seen = GradientDescent(model), []
    model.register_forward_pre_hook(lambda module, given: seen.append(len(given[0])))
    batch = _uneven_batch()
    for _ in range(steps):
        seen.clear()
        loss = run(fn, model, optimizer, dict(batch), 0.5, 3, clip)
    return all_weights(model), loss, seen


@checker
def check_accumulated_step(fn: Callable[..., float]) -> None:
    """Check fn(model, optimizer, batch, rate, rows, clip) -> the loss (float): one step by the gradient of the whole
    batch, with at most `rows` rows in the model at a time."""
    for clip in (100.0, 0.1):
        mine, loss, seen = _after(fn, clip)
        expect(isinstance(loss, float), "return the loss of the whole batch as a float.")
        expect(max(seen, default=0) <= 3, f"{max(seen, default=0)} rows went through the model at once, `rows` was 3.")
        expect(
            not seen or sum(seen) == 4, f"of 4 rows {sum(seen)} went through the model: the last part may be smaller."
        )
        right, wanted, _ = _after(_accumulate(""), clip)
        if close(mine, right):
            expect(abs(loss - wanted) < 1e-4, "the weights are right, the loss is not: that of the whole batch.")
            continue
        expect(not close(mine, all_weights(small_model())), "the weights have not moved: step(rate) after the parts.")
        for message, slip in ACCUMULATION_SLIPS:
            expect(not close(mine, _after(_accumulate(slip), clip)[0]), message)
        expect(False, "the weights moved, but not to where train_step on the whole batch leads.")
    two = _after(fn, 100.0, steps=2)[0]
    kept = "the gradients of the first step are still there in the second: zero_grad() is missing."
    expect(not close(two, _after(_accumulate("kept"), 100.0, steps=2)[0]), kept)
    expect(close(two, _after(_accumulate(""), 100.0, steps=2)[0]), "the first step is right, the second is not.")
    print("Right: the step of the whole batch, a few rows at a time.")


# The ring


def _ring(chunks: list[list[Tensor]], slip: str) -> list[list[Tensor]]:
    """What the processes hold after both phases, the second one with a slip."""
    count = len(chunks)
    for turn in range(2 * (count - 1)):
        adding = turn < count - 1
        first = 0 if adding or slip == "first chunk" else 1
        sent = [(p + first - turn % (count - 1)) % count for p in range(count)]
        came = [chunks[p][sent[p]].clone() for p in range(count)]
        for p, part in enumerate(came):
            right, c = (p + 1) % count, sent[p]
            chunks[right][c] = chunks[right][c] + part if adding or slip == "adds" else part
    return chunks


RING_SLIPS = {
    "adds": "in the second phase what arrives is a whole sum: it replaces the neighbour's chunk, and is not added.",
    "first chunk": "no sum is left: add what arrives in the first phase, and begin the second with chunk (p + 1) % N.",
}


@checker
def check_ring_all_reduce(fn: Callable[..., list]) -> None:
    """Check fn(chunks, send) -> the chunks that each process ends with: the sums, chunks[p][c] being part c of process
    p's vector, and send(p, tensor) what the process right of p gets of it."""
    for processes in (4, 2):
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
            for slip, message in RING_SLIPS.items():
                slipped = _ring([[part.clone() for part in own] for own in chunks], slip)
                pairs = zip(sum(result, []), sum(slipped, []), strict=True)
                expect(not all(close(mine, theirs) for mine, theirs in pairs), message)
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


def _gradients(call: Callable[[nn.Module, Tensor], Tensor]) -> tuple[list[Tensor | None], int, int, bool, Tensor]:
    """Gradients of input and weights, calls of the layer, numbers kept for backward, whether backward moved the
    generator of random numbers, and the output."""
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
        state = torch.get_rng_state()
        expect(isinstance(output, Tensor) and output.requires_grad, "return the output of the layer, with a gradient.")
        try:
            (output * random_tensor(5, 8, seed=3)).sum().backward()
        except NotImplementedError:
            raise
        except RuntimeError as error:
            first = str(error).partition(chr(10))[0]
            hint = " Record the second run, `with torch.enable_grad():`." if "does not require grad" in first else ""
            expect(False, f"backward() stopped: {first}.{hint}")
        drawn = not torch.equal(state, torch.get_rng_state())
    return [x.grad, *(parameter.grad for parameter in layer.parameters())], layer.calls, numbers, drawn, output.detach()


@checker
def check_checkpointed(fn: Callable[[nn.Module, Tensor], Tensor]) -> None:
    """Check fn(layer, x) -> layer(x), keeping x alone for the backward pass, in which the layer runs again."""
    wanted, _, everything, _, output = _gradients(lambda layer, x: layer(x))
    found, calls, kept, drawn, mine = _gradients(fn)
    expect(close(mine, output), "the output is not that of the layer.")
    expect(found[0] is not None, "the input has no gradient: run the layer on x.detach().requires_grad_() and return "
           "the gradient of this copy.")  # fmt: skip
    expect(all(grad is not None for grad in found), "the weights of the layer have no gradient.")
    expect(kept < everything / 4, f"{kept} numbers were kept for backward; the input alone has 40.")
    expect(calls == 2, f"the layer ran {calls} times: once forward, once more in backward.")
    same = all(close(a, b) for a, b in zip(found, wanted, strict=True) if a is not None and b is not None)
    expect(same, "the gradients are not those of the layer. Does the second run draw the same dropout as the first? "
           "torch.get_rng_state() before the first, torch.set_rng_state() before the second.")  # fmt: skip
    expect(not drawn, "backward() changed the random numbers of the rest of the program: put the second run inside "
           "`with torch.random.fork_rng(devices=[]):`.")  # fmt: skip
    print("Right: the same gradients, and only the input was kept.")


def small_model() -> nn.Module:
    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = Config(**sizes, intermediate_size=32, max_position_embeddings=8, initializer_range=0.3)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return pretraining.BertForPreTraining(config).eval()  # without dropout: the same result each time


def all_weights(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])
