"""Texts as inputs, batches epoch after epoch, a head on the pooled [CLS], shares of the rate, smooth labels."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import SHUFFLED, expect, module, random_tensor, small_batch, value
from bertlab.course.solutions import one_sentence
from bertlab.course.solutions.config import Config
from bertlab.course.solutions.tokenizer import Tokenizer

NAMES = ("input_ids", "attention_mask", "token_type_ids")


def letter_tokenizer() -> Tokenizer:
    """A tokenizer of the special tokens and the letters a to t."""
    return Tokenizer({token: number for number, token in enumerate([*SHUFFLED, *"abcdefghijklmnopqrst"])})


def _texts() -> list[tuple]:
    long = " ".join("abcdefghij"), " ".join("klmnop")
    return [
        (letter_tokenizer(), ["a b c", "d"], None, 128),
        (letter_tokenizer(), ["a b", "c d e"], ["f", "g h i"], 128),
        (letter_tokenizer(), [long[0], "a"], None, 8),
        (letter_tokenizer(), [long[0], "a"], [long[1], "b"], 11),
        (letter_tokenizer(), ["a b c d", "a"], [long[0], "b"], 9),
    ]


check_inputs = Exercise(
    one_sentence.inputs,
    _texts,
    right="Right: every row has its [CLS] and [SEP], and fits.",
    observe=value,
    kept=("inputs",),
    slips=[
        (
            "a row has more than max_tokens tokens: special tokens count.",
            "max_tokens - (3 if second else 2) => max_tokens",
        ),
        ("a row has more than max_tokens tokens: cut until it fits.", "while len(a) + len(b) > free => while False"),
        (
            "the longer text loses its end, token by token, until all fits.",
            "(a if len(a) >= len(b) else b).pop() => (b or a).pop()",
        ),
        (
            "the longer text loses its end, not its beginning.",
            "(a if len(a) >= len(b) else b).pop() => (a if len(a) >= len(b) else b).pop(0)",
        ),
        ("[PAD] is tokenizer.pad_token_id, which need not be 0.", "[tokenizer.pad_token_id] * n => [0] * n"),
        (
            "[CLS] and [SEP] are tokenizer.cls_token_id and tokenizer.sep_token_id, which need not be 2 and 3.",
            "[tokenizer.cls_token_id, *a, tokenizer.sep_token_id] => [2, *a, 3]",
        ),
        ("attention_mask is 1 on tokens, 0 on padding.", "[1] * len(row) + [0] * n => [0] * len(row) + [1] * n"),
        ("padding is no token: its attention_mask is 0.", "[1] * len(row) + [0] * n => [1] * len(row) + [1] * n"),
        ("token_type_ids are 1 on the second text and its [SEP].", "[1] * len(behind) => [0] * len(behind)"),
        ("token_type_ids are 0 on padding.", "kind + [0] * n => kind + [1] * n"),
    ],
    spared={"len(a) > len(b)": "of two texts of one length either may be cut"},
)


def _batch(given: Any) -> list:
    same = isinstance(given, list | tuple) and all(type(example) is tuple for example in given)
    expect(same, "each batch is a list of examples, as they were given: here (text, number) tuples.")
    return list(given)


def _epochs(fn) -> dict[str, Any]:
    """What holds of three epochs of ten examples, two of them equal, in batches of at most four."""
    examples = [(f"e{number}", number % 2) for number in (*range(9), 8)]
    given, seeds = list(examples), (0, 0, 1)
    drawn = [[_batch(batch) for batch in islice(fn(given, 4, seed), 9)] for seed in seeds]
    turns = [iter(fn(given, 4, seed)) for seed in seeds]
    in_turn = islice(zip(*turns, strict=False), 4)  # a batch of each stream in turn, into the second epoch
    together = [[_batch(batch) for batch in turn] for turn in in_turn]
    collected = [*map(list, [*islice(fn(given, 4, 0), 9)])]  # as they are when all nine have been made
    streams = [[example for batch in batches for example in batch] for batches in drawn]
    first, second = streams[0][:10], streams[0][10:20]
    kept = sorted(len(batch) for batch in drawn[0][:3]) == [2, 4, 4]
    whole: list = next(iter(fn(given, 64, 0)), []) if kept else []  # who drops small batches would search without end
    threes = [list(batch) for batch in islice(fn(given, 3, 0), 4)] if kept else []
    return {
        "the list that is given stays as it is": given == examples,
        "the batches never end": all(len(batches) == 9 for batches in drawn),
        "a batch has at most `size` examples, and never none": all(1 <= len(batch) <= 4 for batch in drawn[0])
        and all(map(list, islice(fn(given, 5, 0), 3))),
        "the first ten examples are all ten": sorted(first) == sorted(examples),
        "the last batch of an epoch is kept, however small": kept,
        "the second epoch has all ten as well": sorted(second) == sorted(examples),
        "the same seed gives the same order": streams[0] == streams[1],
        "a batch stays as it is when the next one is made": collected == drawn[1] or streams[0] != streams[1],
        "the first epoch is shuffled": first != examples,
        "each epoch has another order": first != second,
        "two seeds give two orders": streams[0] != streams[2],
        "streams that take turns do not disturb each other": [[*stream] for stream in zip(*together, strict=False)]
        == [batches[:4] for batches in drawn],
        "a last batch of one example is kept too": sorted(sum(threes, [])) == sorted(examples),
        "10 examples with size=64 are one batch": sorted(whole) == sorted(examples),
        "any example can come in the first half of an epoch": not kept
        or set(sum(map(list, islice(fn(given, 5, 0), 0, 40, 2)), [])) == set(examples),
        "the order is a shuffle, not the old one turned": not _turned(first, examples),
    }


def _turned(order: Sequence, examples: Sequence) -> bool:
    return any(list(order) in ([*examples[n:], *examples[:n]], [*examples[n:], *examples[:n]][::-1]) for n in range(10))


ORDER = "order = rng.sample(examples, len(examples))"

check_epochs = Exercise(
    one_sentence.epochs,
    lambda: [()],
    right="Right: every example once in an epoch, each epoch in another order, without end.",
    observe=_epochs,
    kept=("epochs",),
    slips=[
        (
            "where `size` divides the number of examples, a batch is empty.",
            "range(0, len(order), => range(0, len(order) + 1,",
        ),
        (
            "your function changed the list it was given: shuffle a copy.",
            f"{ORDER} => rng.shuffle(examples); order = list(examples)",
        ),
        ("the same seed gave two orders: draw from random.Random(seed) alone.", "random.Random(seed) => random"),
        (
            "two seeds gave one order: random.Random(seed) begins with the seed.",
            "random.Random(seed) => random.Random(0)",
        ),
        (
            "the first epoch has the examples in their old order: shuffle before it too.",
            "while True:\n => order = examples\n    while True:\n",
            f"        {ORDER}\n => ",
            "len(order), size)) => len(order), size)); order = rng.sample(examples, len(examples))",
        ),
        (
            "every epoch has the same order: shuffle anew for each.",
            f"    while True:\n        {ORDER}\n =>     {ORDER}\n    while True:\n",
        ),
        (
            "this turns the list, it does not shuffle it: neighbours stay neighbours. rng.sample or rng.shuffle.",
            f"{ORDER} => start = rng.randrange(1, len(examples)); order = examples[start:] + examples[:start]",
        ),
        (
            "examples stay in their half of the list: shuffle all of them together.",
            f"{ORDER} => half = len(examples) // 2; order = rng.sample(examples[:half], half) + "
            f"rng.sample(examples[half:], len(examples) - half)",
        ),
        ("the batches end: begin another epoch, without end (while True).", "while True: => for _ in range(2):"),
        (
            "an example comes twice before others had their turn: shuffle, do not draw with replacement.",
            f"{ORDER} => order = rng.choices(examples, k=len(examples))",
        ),
        (
            "the last examples of an epoch are lost: 10 in fours are 4, 4 and a batch of 2.",
            "range(0, len(order), size) => range(0, len(order) - size + 1, size)",
        ),
        (
            "random.seed(seed) begins the module's generator anew, which others draw from too: take a "
            "random.Random(seed) of your own.",
            "rng = random.Random(seed) => random.seed(seed); rng = random",
        ),
        (
            "the last example of an epoch is lost where it is alone: a batch of one is a batch.",
            "size] for start in range(0, len(order), size)) => size] for start in range(0, len(order), size) "
            "if start + 1 < len(order))",
        ),
        ("a batch has at most `size` examples.", "start : start + size] => start : start + size + 1]"),
    ],
)


def with_labels(*labels: int) -> dict[str, torch.Tensor]:
    """The rows of small_batch with a label for each."""
    return dict(zip(NAMES, small_batch(), strict=True)) | {"labels": torch.tensor(labels)}


def _classifiers() -> list[tuple]:
    sizes = ((12, 3, 2, 3, with_labels(0, 2, 1)), (6, 1, 1, 2, with_labels(0, IGNORED, 0)))
    options: dict[str, Any] = {"max_position_embeddings": 9, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    return [
        ((Config(30, H, L, A, 10, **options), N), {"forward": small_batch(), "loss": (batch,)})
        for H, A, L, N, batch in sizes
    ]


def with_new_head(cls: type[nn.Module], options: Sequence, runs: Any, head: str = "classifier") -> dict[str, Any]:
    """A module as `module` sees it, and that it keeps its config and draws its new layer as BERT does."""
    found, config = module(cls, options, runs), options[0]
    fresh: Any = cls(Config(30, 240, 1, 1, 10, initializer_range=0.1), *options[1:])
    layer = getattr(fresh, head, None)
    if layer is None:  # its name is among the parameters
        return found
    spread = float(layer.weight.detach().std())
    return found | {
        "self.config is the configuration": getattr(cls(*options), "config", None) == config,
        f"the weight of {head} starts with initializer_range": 0.07 < spread < 0.13,
        f"the bias of {head} starts at 0": not bool(layer.bias.any()),
    }


CALL = "self.bert(input_ids, attention_mask, token_type_ids)"
LOGITS = "self.classifier(self.dropout(pooled))"


def on_the_encoder(call: str, learned: str) -> list[tuple]:
    """Slips of what stands on self.bert: an argument of its `call` is lost, or it is not `learned` through."""
    never = "the encoder is never fine-tuned: no gradient reaches it. No no_grad and no detach around self.bert."
    lost = (("attention_mask", "torch.ones_like(attention_mask)"), ("token_type_ids", "0 * token_type_ids"))
    passed = [(f"{name} is not passed to self.bert.", f"{call} => {call.replace(name, other)}") for name, other in lost]
    return [*passed, (never, f"{learned} => {learned}.detach()")]


check_classifier = Exercise(
    one_sentence.BertForSequenceClassification,
    _classifiers,
    right="Right: dropout and one linear layer on the pooled [CLS], and a mean loss.",
    observe=with_new_head,
    kept=("BertForSequenceClassification",),
    slips=[
        *on_the_encoder(CALL, "self.dropout(pooled"),
        (
            "a row whose label is -100 does not count: divide by the number of the other rows.",
            "ignore_index=IGNORED) => ignore_index=IGNORED, reduction='sum') / len(batch['labels'])",
        ),
        (
            "this is the state of [CLS] itself: take the pooler's output.",
            f"_, pooled = {CALL} => pooled = {CALL}[0][:, 0]",
        ),
        (
            "there are logits for every token: take the pooler's output, one vector for each text.",
            f"_, pooled = {CALL} => pooled, _ = {CALL}",
        ),
        (
            "this is the mean of the tokens: take the pooler's output.",
            f"_, pooled = {CALL} => x, _ = {CALL}; pooled = (x * attention_mask[:, :, None]).sum(1) / "
            f"attention_mask.sum(1, keepdim=True)",
        ),
        ("return logits, without softmax: the loss has it inside.", f"{LOGITS} => {LOGITS}.softmax(-1)"),
        ("return logits, without log_softmax: the loss has it inside.", f"{LOGITS} => {LOGITS}.log_softmax(-1)"),
        ("there is no activation after the last layer: logits may be negative.", f"{LOGITS} => {LOGITS}.relu()"),
        (
            "in training nothing is dropped: nn.Dropout belongs before the classifier (hidden_dropout_prob).",
            f"{LOGITS} => self.classifier(pooled)",
        ),
        (
            "dropout comes before the classifier: of its logits none may be dropped.",
            f"{LOGITS} => self.dropout(self.classifier(pooled))",
        ),
        (
            "the new layer starts as PyTorch draws it: nn.init.normal_ with BERT's config.initializer_range (0.02).",
            "        nn.init.normal_(self.classifier.weight, std=config.initializer_range)\n => ",
        ),
        ("the new layer's bias starts at 0: nn.init.zeros_.", "        nn.init.zeros_(self.classifier.bias)\n => "),
        ("keep the config: self.config = config. `save` needs it.", "        self.config = config\n => "),
        (
            "the loss is the sum over the texts: take their mean.",
            "ignore_index=IGNORED => ignore_index=IGNORED, reduction='sum'",
        ),
        ("cross_entropy takes logits: they went through softmax first.", "self(**rows), => self(**rows).softmax(-1),"),
        ("label 0 is a class like the others: ignore only -100.", "ignore_index=IGNORED => ignore_index=0"),
        (
            "the loss teaches nothing: no detach, item or no_grad on its way.",
            "return F.cross_entropy(self(**rows) => return F.cross_entropy(self(**rows).detach()",
        ),
    ],
)


def _shares(fn) -> dict[str, Any]:
    """The share of each parameter, by name, for two depths; every module once."""
    found: dict[str, Any] = {}
    for layers in (3, 1):
        model = one_sentence.BertForSequenceClassification(Config(30, 6, layers, 1, 8), 3)
        model.extra = nn.Linear(2, 2)  # a head may have several parts
        pairs = list(fn(model, 0.3))
        names = {weight: name for name, weight in model.named_parameters()}
        shares: dict[str, list[float]] = {name: [] for name in names.values()}
        expect(
            all(len(pair) == 2 and isinstance(pair[0], nn.Module) for pair in pairs), "return pairs (module, share)."
        )
        for part, share in pairs:
            for weight in part.parameters():
                shares[names[weight]].append(float(share))
        found |= {f"shares of {name} with {layers} layers": each for name, each in shares.items()}
    return found


check_layer_shares = Exercise(
    one_sentence.layer_shares,
    lambda: [()],
    right="Right: the whole rate at the top, less with each layer below.",
    observe=_shares,
    kept=("layer_shares",),
    slips=[
        (
            "the head is all of the model's children but `bert`: it may have several parts, of any names.",
            'if name != "bert" => if name == "classifier"',
        ),
        (
            "upside down: the embeddings have the largest share, and the last layer the least.",
            "reversed(range(len(blocks))) => range(len(blocks))",
        ),
        ("the last layer has the whole rate, a share of 1.", "decay**depth => decay**(depth + 1)"),
        ("head and pooler have a share of 1.", "[(part, 1.0) for => [(part, decay) for"),
        (
            "the embeddings are a step below the first layer: decay times its share.",
            "decay**depth => decay**min(depth, len(blocks) - 2)",
        ),
        (
            "the share shrinks by a factor with each layer, it is not divided by its depth.",
            "decay**depth => 1 / (1 + depth)",
        ),
        ("the pooler is in none of your modules: it would never learn.", "model.bert.pooler, *(module => *(module"),
        (
            "the head is in none of your modules: it would never learn.",
            ', *(module for name, module in model.named_children() if name != "bert")] => ]',
        ),
        (
            "the embeddings are in none of your modules: they would never learn.",
            "blocks = [model.bert.embeddings, *model.bert.encoder.layers] => blocks = [*model.bert.encoder.layers]",
        ),
        ("bert is in two of your modules and would be moved twice in each step.", ' if name != "bert" => '),
    ],
)


def smooth_loss(logits, labels, smoothing):
    logs, classes = logits.log_softmax(-1), logits.size(-1)
    target = F.one_hot(labels, classes) * (1 - smoothing) + smoothing / classes
    return -(target * logs).sum(-1).mean()


def _smoothed() -> list[tuple]:
    logits, labels = 3 * random_tensor(5, 4), torch.tensor([0, 3, 1, 1, 2])
    return [
        (logits, labels, 0.2),
        (logits[:2, :3], torch.tensor([2, 0]), 0.1),
        (logits, labels % 3, 0.0),
        (40 * logits, labels, 0.2),
    ]


TARGET = "F.one_hot(labels, classes) * (1 - smoothing) + smoothing / classes"
HOT = "F.one_hot(labels, classes)"

check_smooth_loss = Exercise(
    smooth_loss,
    _smoothed,
    right="Right: a little of every label for each class, the rest for the right one.",
    slips=[
        ("this is the plain cross-entropy: `smoothing` is not used.", f"{TARGET} => {HOT}"),
        (
            "you share `smoothing` among the wrong classes; Szegedy et al. share it among all N, the right one too.",
            f"{TARGET} => {HOT} * (1 - smoothing) + smoothing / (classes - 1) * (1 - {HOT})",
        ),
        (
            "the right class has its share of `smoothing` too: 1 - smoothing + smoothing / N.",
            f"{TARGET} => {HOT} * (1 - smoothing) + smoothing / classes * (1 - {HOT})",
        ),
        ("each class gets smoothing / N, not all of it.", "smoothing / classes => smoothing"),
        ("the part that you take from the right class should go to all classes.", " + smoothing / classes => "),
        ("what all classes get is taken from the right one: (1 - smoothing) for it.", " * (1 - smoothing) => "),
        (
            "the other way round: `smoothing` is the part for all.",
            f"{TARGET} => {HOT} * smoothing + (1 - smoothing) / classes",
        ),
        ("this is the sum over the texts: take their mean.", ".sum(-1).mean() => .sum()"),
        ("the mean is over the texts alone: sum over the classes.", ".sum(-1).mean() => .mean()"),
        ("these are logits: take log_softmax first.", "logits.log_softmax(-1) => logits"),
        ("these are probabilities: take their logarithm (log_softmax).", "log_softmax => softmax"),
        (
            "a small probability becomes 0, and its logarithm infinite: log_softmax takes both steps at once.",
            "logits.log_softmax(-1) => logits.softmax(-1).log()",
        ),
        ("the sign: a loss is minus the logarithm.", "return - => return "),
        (
            "no gradient passes the loss: no detach, item or no_grad.",
            "logits.log_softmax(-1) => logits.detach().log_softmax(-1)",
        ),
    ],
)


def expected_best(accuracies, k):
    n = len(accuracies)
    shares = [(i / n) ** k - ((i - 1) / n) ** k for i in range(1, n + 1)]
    return sum(value * share for value, share in zip(sorted(accuracies), shares, strict=True))


def _without_replacement(accuracies, k):
    from itertools import combinations

    drawn = list(combinations(accuracies, min(k, len(accuracies))))
    return sum(map(max, drawn)) / len(drawn)


check_expected_best = Exercise(
    expected_best,
    lambda: [
        ([0.7, 0.5, 0.9, 0.6], 2),
        ([0.7, 0.5, 0.9, 0.6], 3),
        ([0.4, 0.3, 0.8], 1),
        ([0.6, 0.4, 0.6], 3),
        ([0.7, 0.5, 0.9, 0.6], 8),
    ],
    right="Right: from the mean, for one run, towards the maximum, for many.",
    observe=value,
    slips=[
        (
            "your function changed the list it was given: use sorted().",
            "n = len(accuracies) => n = len(accuracies); accuracies.sort()",
        ),
        ("this is the best of all runs, whatever k is.", lambda accuracies, k: max(accuracies)),
        ("this is the mean of all runs, whatever k is.", lambda accuracies, k: sum(accuracies) / len(accuracies)),
        (
            "this is right for draws without replacement; here each run may be drawn again, as the k runs are new "
            "ones.",
            _without_replacement,
        ),
        ("i counts from 1: the smallest accuracy is the best with (1/n)^k.", "range(1, n + 1) => range(n)"),
        ("sort the accuracies first: their order should not matter.", "sorted(accuracies) => accuracies"),
        (
            "the chance that all k are at most the i-th is (i/n)^k: subtract that for i - 1.",
            " - ((i - 1) / n) ** k => ",
        ),
    ],
)
