"""What makes a large batch fit: accumulation, the ring, checkpointing."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.course.chapter_08.exercises.step import GradientDescent
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, filled, random_tensor, value
from bertlab.course.solutions import accumulation, pretraining
from bertlab.course.solutions.config import Config


def _uneven_batch() -> dict[str, Tensor]:
    """Four rows of unlike lengths with 4, 1, 2 and 1 masked tokens, the third a text alone."""
    mask = (torch.arange(6) < torch.tensor([6, 3, 5, 4])[:, None]).long()
    ids = (5 + torch.arange(24).view(4, 6)) * mask
    ids[1, 4] = 9  # a padded position with the id of a word
    labels = torch.full_like(ids, IGNORED)
    for row, count in enumerate((4, 1, 2, 1)):
        labels[row, :count] = ids[row, :count]
    types = ((torch.arange(6) > 2).long() * mask).clone()
    batch = {"input_ids": ids.masked_fill(labels > 0, 4), "labels": labels, "token_type_ids": types}
    return batch | {"attention_mask": mask, "next_sentence_label": torch.tensor([0, 1, IGNORED, 0])}


def _steps(fn, clip: float, rows: int) -> dict[str, Any]:
    """What two steps in parts of at most `rows` rows do to a model in training."""
    options: dict[str, Any] = {"max_position_embeddings": 8, "hidden_dropout_prob": 0.3}
    model = filled(pretraining.BertForPreTraining(Config(30, 12, 1, 3, 16, **options))).train()
    optimizer, seen, late = GradientDescent(model), [], []
    model.register_forward_pre_hook(
        lambda module, given, named: seen.append(len([*given, *named.values()][0])), with_kwargs=True
    )
    model.register_forward_pre_hook(lambda *_: late.append(len(seen) > 1 and next(model.parameters()).grad is None))
    found: dict[str, Any] = {}
    for step in (1, 2):
        seen.clear()
        made = value(fn, model, optimizer, _uneven_batch(), 0.5, rows, clip)
        expect(isinstance(made["result"], float), "return the loss of the whole batch as a float.")
        weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
        found |= {
            f"no more than {rows} rows go through the model at once in step {step}": max(seen, default=0) <= rows,
            f"all 4 rows go through the model in step {step}": sum(seen) == 4,
            f"each part has its backward() before the next begins in step {step}": not any(late),
            f"the weights after step {step}": weights,
            f"the loss of step {step}": made["result"],
            f"changed in step {step}": made["changed"],
        }
    return found


CLIP = "torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)"
MEANS = (
    "the mean of the parts' means: each masked token counts alike, wherever it stands. Divide the sum of the losses by "
    "the number of masked tokens of the whole batch."
)

check_accumulated_step = Exercise(
    accumulation.accumulated_step,
    lambda: [(100.0, 3), (0.1, 2), (100.0, 1)],
    right="Right: the step of the whole batch, a few rows at a time.",
    observe=_steps,
    kept=("accumulated_step",),
    slips=[
        (MEANS, '.flatten(), reduction="sum") / words => .flatten()) / 2'),
        *(
            (
                MEANS,
                f'.flatten(), reduction="sum") / words => .flatten()){by}',
                f'"], reduction="sum") / pairs => "]){by}',
            )
            for by in (" / 2", ' * len(part["labels"]) / 4')
        ),
        (
            "the parts' means were added: that is too much by about the number of parts.",
            '.flatten(), reduction="sum") / words => .flatten())',
        ),
        (
            "one step for each part: step once, after the last backward().",
            "total += loss.item() => total += loss.item(); optimizer.step(rate); optimizer.zero_grad()",
        ),
        (
            "each part's gradient was clipped: clip once, the sum.",
            f"    {CLIP}\n => ",
            f"total += loss.item() => total += loss.item(); {CLIP}",
        ),
        ("the gradient was not clipped.", f"    {CLIP}\n => "),
        (
            "one backward() in the end keeps the activations of all parts: call it for each, which frees them.",
            "loss.backward() => pass",
            "total += loss.item() => total = total + loss",
            f"    {CLIP} =>     total.backward(); total = total.item(); {CLIP}",
        ),
        (
            "the norm is clipped to 1: use the `clip` that you are given.",
            "optimizer.parameters, clip) => optimizer.parameters, 1.0)",
        ),
        (
            "only the last part was learned from: do not clear the gradients before the step.",
            "loss.backward() => optimizer.zero_grad(); loss.backward()",
        ),
        (
            "both losses are divided by the masked tokens: divide that of the pairs by their number.",
            "/ pairs => / words",
        ),
        ("the loss of the pairs is missing: train_step adds both losses.", "loss = loss + => _ ="),
        ("a text alone, with label -100, is no pair: divide by the pairs that have a label.", "/ pairs => / 4"),
        (
            "a part may have no labelled pair, and a mean over none is nan: add up its losses (reduction='sum').",
            'part["next_sentence_label"], reduction="sum") => part["next_sentence_label"]) * '
            '(part["next_sentence_label"] != IGNORED).sum()',
        ),
        (
            "gradients of the first step are still there in the second: zero_grad() is missing.",
            "    optimizer.zero_grad()\n => ",
        ),
        (
            "padding takes part: give the model the part's attention_mask, not ones.",
            'part["attention_mask"] => torch.ones_like(part["attention_mask"])',
        ),
        (
            "padding is what the part's attention_mask says: a padded position can have any id.",
            'part["attention_mask"] => (part["input_ids"] != 0).long()',
        ),
        (
            "the segments are lost: give the model the part's token_type_ids, not zeros.",
            'part["token_type_ids"] => 0 * part["token_type_ids"]',
        ),
        (
            "more rows than `rows` went through the model at once.",
            'len(batch["input_ids"]), rows) => len(batch["input_ids"]), 4)',
            "start : start + rows => start : start + 4",
        ),
        ("return the loss of the whole batch, not of its last part.", "total += loss.item() => total = loss.item()"),
    ],
    spared={".clamp(min=2)": "these batches have two masked tokens and two pairs at least"},
)


def ring_all_reduce(chunks, send):
    count = len(chunks)
    for phase in ("add", "hand on"):
        first = 0 if phase == "add" else 1  # after the adding process p holds the sum of chunk p + 1
        for turn in range(count - 1):
            sent = [(p + first - turn) % count for p in range(count)]
            came = [send(p, chunks[p][sent[p]]) for p in range(count)]
            for p in range(count):
                right, c = (p + 1) % count, sent[p]
                chunks[right][c] = chunks[right][c] + came[p] if phase == "add" else came[p]
    return chunks


def _reduced(fn, processes: int) -> dict[str, Any]:
    chunks = [[random_tensor(3, seed=10 * p + c) for c in range(processes)] for p in range(processes)]
    sent = [0] * processes

    def send(process: int, tensor: Tensor) -> Tensor:
        sent[process] += tensor.numel()
        return tensor.clone()

    result = fn([[part.clone() for part in own] for own in chunks], send)
    shaped = isinstance(result, list) and len(result) == processes and all(len(own) == processes for own in result)
    expect(shaped, "return a list of processes, each a list of its chunks.")
    return {
        "the chunks of each process": [list(own) for own in result],
        "processes see each other's numbers through send() alone": min(sent) >= 2 * (processes - 1) * 3,
        "one chunk a round is sent, N - 1 rounds to add and N - 1 to hand on": max(sent) <= 2 * (processes - 1) * 3,
    }


def _everything(chunks, send):
    """Each process hands its whole vector on, N - 1 times."""
    count = len(chunks)
    sums = [list(own) for own in chunks]
    for _ in range(count - 1):
        chunks = [[send((p - 1) % count, part) for part in chunks[(p - 1) % count]] for p in range(count)]
        sums = [[a + b for a, b in zip(own, came, strict=True)] for own, came in zip(sums, chunks, strict=True)]
    return sums


def _peeking(chunks, send):
    return [[sum(own[c] for own in chunks) for c in range(len(chunks))] for _ in chunks]


check_ring_all_reduce = Exercise(
    ring_all_reduce,
    lambda: [(4,), (2,)],
    right="Right: everybody has the sum and sent less than twice the vector, however many they are.",
    observe=_reduced,
    slips=[
        ("too little was sent: processes see each other's numbers through send() alone.", _peeking),
        (
            "in the second phase what arrives is a whole sum: it replaces the neighbour's chunk, and is not added.",
            'came[p] if phase == "add" else came[p] => came[p]',
        ),
        (
            "no sum is left: add what arrives in the first phase, and begin the second with chunk (p + 1) % N.",
            'first = 0 if phase == "add" else 1 => first = 0',
        ),
        (
            "each process has the sum of one chunk: now pass these sums around the ring.",
            'for phase in ("add", "hand on") => for phase in ("add",)',
        ),
        (
            "no sum is left: add what arrives in the first phase, and begin the second with chunk (p + 1) % N.",
            'chunks[right][c] + came[p] if phase == "add" else came[p] => came[p]',
        ),
        (
            "more was sent than is needed: one chunk a round, N - 1 rounds to add and N - 1 to hand the sums on.",
            _everything,
        ),
    ],
)


class _Noisy(nn.Module):
    """A layer with weights, dropout, and an inside that is large."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down, self.calls = nn.Linear(8, 64), nn.Linear(64, 8), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        inside = F.gelu(self.up(x))
        return x + self.down(inside * 2 * (torch.rand_like(inside) > 0.5))


def _checkpointed(fn: Callable[[nn.Module, Tensor], Tensor]) -> dict[str, Any]:
    layer: Any = filled(_Noisy())
    leaf: Tensor = random_tensor(5, 8).requires_grad_()
    x, kept = leaf * 1, []  # as what the layer below gives
    weights = {parameter.data_ptr() for parameter in layer.parameters()}

    def pack(tensor: Tensor) -> Tensor:
        kept.append(0 if tensor.data_ptr() in weights else tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = fn(layer, x)
    numbers = sum(kept)
    torch.rand(3)  # what the layers above draw meanwhile
    fn(filled(_Noisy()), random_tensor(5, 8, seed=4).requires_grad_())  # and what one of them keeps
    state = torch.get_rng_state()
    expect(isinstance(output, Tensor) and output.requires_grad, "return the output of the layer, with a gradient.")
    with warnings.catch_warnings(action="ignore"):  # of a gradient that is asked for where there is none
        (output * random_tensor(5, 8, seed=3)).sum().backward()
    found = {"the output": output.detach(), "the input alone is kept for backward": numbers < 200}
    found |= {"gradient of x": leaf.grad} | {
        f"gradient of {name}": each.grad for name, each in layer.named_parameters()
    }
    found["the layer runs twice, forward and in backward"] = layer.calls == 2
    found["backward() leaves the random numbers of the program alone"] = torch.equal(state, torch.get_rng_state())
    return found


class Checkpointed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, layer, x):
        ctx.layer, ctx.draws = layer, torch.get_rng_state()
        ctx.save_for_backward(x)
        return layer(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.draws)
            y = ctx.layer(x)
        y.backward(grad)
        return None, x.grad


def checkpointed(layer, x):
    return Checkpointed.apply(layer, x)


check_checkpointed = Exercise(
    checkpointed,
    lambda: [()],
    right="Right: the same gradients, and only the input was kept.",
    observe=_checkpointed,
    helpers=(Checkpointed,),
    slips=[
        (
            "nothing is saved: all that the layer makes is kept for backward.",
            "return Checkpointed.apply(layer, x) => return layer(x)",
        ),
        (
            "the gradients are not those of the layer: the second run draws another dropout. torch.get_rng_state() "
            "before the first, torch.set_rng_state() before the second.",
            "            torch.set_rng_state(ctx.draws)\n => ",
        ),
        (
            "this is the state behind the first run: take torch.get_rng_state() before it.",
            "ctx.layer, ctx.draws = layer, torch.get_rng_state() => ctx.layer = layer",
            "return layer(x)\n\n => y = layer(x); ctx.draws = torch.get_rng_state(); return y\n\n",
        ),
        (
            "backward() changed the random numbers of the rest of the program: put the second run inside `with "
            "torch.random.fork_rng(devices=[]):`.",
            "torch.random.fork_rng(devices=[]), torch.enable_grad() => torch.enable_grad()",
        ),
        (
            "the input has no gradient: return that of x.detach().requires_grad_(), on which the layer ran.",
            "return None, x.grad => return None, None",
        ),
        (
            "cut x off, x.detach().requires_grad_(): else backward() goes on below the layer, and x has no .grad.",
            "ctx.saved_tensors[0].detach().requires_grad_() => ctx.saved_tensors[0]",
        ),
        (
            "record the second run, `with torch.enable_grad():`, or backward() has nothing to go back on.",
            ", torch.enable_grad(): => :",
        ),
    ],
    spared={"detached": "the graph that counts is that of the second run, on a copy of x"},
)
