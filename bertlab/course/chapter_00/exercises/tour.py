"""From logits to words, three inputs from two texts, how many probes pass, the best span."""

import torch

from bertlab.course.exercise import Exercise
from bertlab.course.observe import random_tensor, value


def likeliest(logits, k):
    best = logits.softmax(-1).topk(k)
    return best.indices, best.values


BOTH = "return best.indices, best.values"

check_likeliest = Exercise(
    likeliest,
    lambda: [
        (2 * random_tensor(9), 3),
        (random_tensor(6, seed=1), 1),
        (3 * random_tensor(12, seed=2), 5),
        (99 * random_tensor(8), 2),
    ],
    right="Right: probabilities over all word pieces, and the k largest.",
    observe=value,
    gives=("the ids", "their probabilities"),
    slips=[
        (
            "the first of the two are the ids; the probabilities come second.",
            f"{BOTH} => return best.values, best.indices",
        ),
        ("these are the unlikeliest words: sort the other way round.", "topk(k) => topk(k, largest=False)"),
        ("the likeliest stands first.", f"{BOTH} => return best.indices.flip(0), best.values.flip(0)"),
        ("these are still logits: softmax turns them into probabilities.", "logits.softmax(-1).topk => logits.topk"),
        (
            "softmax runs over all V logits, not over the k largest: other words get a share.",
            f"{BOTH} => return best.indices, logits[best.indices].softmax(-1)",
        ),
        (
            "sigmoid treats each word by itself; probabilities of all words sum to 1: softmax.",
            "logits.softmax(-1) => logits.sigmoid()",
        ),
        ("these are logarithms of the probabilities.", "logits.softmax(-1) => logits.log_softmax(-1)"),
        (
            "exp of a large logit is infinite, and inf / inf is nan: softmax subtracts the largest logit first.",
            "logits.softmax(-1) => (logits.exp() / logits.exp().sum())",
        ),
        ("return the k likeliest, not always three.", "topk(k) => topk(3)"),
    ],
)


def pair_inputs(first, second, cls, sep, length):
    ids = [cls, *first, sep, *second, sep]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    padding = [0] * (length - len(ids))
    return ids + padding, types + padding, [1] * len(ids) + padding


IDS, TYPES = "[cls, *first, sep, *second, sep]", "[0] * (len(first) + 2) + [1] * (len(second) + 1)"

check_pair_inputs = Exercise(
    pair_inputs,
    lambda: [([10, 11, 12], [13, 14], 2, 3, 10), ([20], [21, 22, 23], 4, 5, 7), ([30, 31], [32], 2, 3, 9)],
    right="Right: ids, segments and mask are those that BERT expects.",
    observe=value,
    gives=("input_ids", "token_type_ids", "attention_mask"),
    slips=[
        (
            "cls and sep are ids already: input_ids holds whole numbers.",
            f'{IDS} => ["[CLS]", *first, "[SEP]", *second, "[SEP]"]',
        ),
        (
            "input_ids must begin with [CLS]: its vector later stands for the whole pair.",
            f"{IDS} => [*first, sep, *second, sep]",
        ),
        (
            "there is no [SEP] between the two texts: BERT would read them as one.",
            f"{IDS} => [cls, *first, *second, sep]",
        ),
        (
            "a [SEP] is missing: one stands after the first text and one after the second.",
            f"{IDS} => [cls, *first, sep, *second]",
        ),
        (
            "input_ids should be [CLS] first [SEP] second [SEP], in this order.",
            f"{IDS} => [cls, *second, sep, *first, sep]",
        ),
        ("use the cls and sep that are given, not 2 and 3.", f"{IDS} => [2, *first, 3, *second, 3]"),
        ("pad input_ids to `length`.", "return ids + padding => return ids"),
        ("fill input_ids up with 0, the id of [PAD].", "return ids + padding => return ids + [9] * len(padding)"),
        (
            "the first [SEP] closes the first text: its token_type_id is 0.",
            f"{TYPES} => [0] * (len(first) + 1) + [1] * (len(second) + 2)",
        ),
        (
            "the last [SEP] belongs to the second text: its token_type_id is 1.",
            f"{TYPES} => [0] * (len(first) + 2) + [1] * len(second) + [0]",
        ),
        ("token_type_ids is 0 up to the first [SEP] and 1 from there to the last.", f"{TYPES} => [0] * len(ids)"),
        ("padding has token_type_id 0.", "types + padding => types + [1] * len(padding)"),
        (
            "attention_mask is the wrong way round: 1 means attend to it, 0 means padding.",
            "[1] * len(ids) + padding => [0] * len(ids) + [1] * len(padding)",
        ),
        (
            "attention_mask is 1 on every real token, [CLS] and [SEP] too.",
            "[1] * len(ids) + padding => [0] + [1] * (len(ids) - 1) + padding",
        ),
        (
            "attention_mask must be 0 on padding: else words attend to [PAD] too.",
            "[1] * len(ids) + padding => [1] * length",
        ),
    ],
)


def share_passed(logits, answers, foils):
    rows = torch.arange(len(logits))
    return (logits[rows, answers] > logits[rows, foils]).float().mean()


def _gaps() -> list[tuple]:
    """Logits of several sizes, in one of them a foil as likely as its answer."""
    cases = []
    for N, V in ((8, 11), (1, 5), (5, 4), (41, 30), (6, 7)):
        rows = torch.arange(N)
        answers = 3 * rows % V
        cases.append((random_tensor(N, V, seed=N), answers, (answers + 1 + rows % (V - 1)) % V))
    logits, answers, foils = cases[-1]
    logits[2, foils[2]] = logits[2, answers[2]]
    return cases


WINS = "(logits[rows, answers] > logits[rows, foils])"

check_share_passed = Exercise(
    share_passed,
    _gaps,
    right="Right: the share of probes whose answer is likelier than their foil.",
    observe=lambda fn, *case: value(lambda *given: float(fn(*given)), *case),
    slips=[
        (
            "here the answer must be the likeliest of all words: compare it with its foil alone.",
            f"{WINS} => (logits.argmax(1) == answers)",
        ),
        ("this is the share of probes whose foil wins.", f"{WINS} => (logits[rows, answers] < logits[rows, foils])"),
        ("a foil as likely as the answer does not pass.", f"{WINS} => (logits[rows, answers] >= logits[rows, foils])"),
        ("this is how many pass: divide by the number of probes.", ".mean() => .sum()"),
        (
            "logits[:, answers] takes all answers for each probe, (N, N): row n goes with answers[n] alone.",
            f"{WINS} => (logits[:, answers] > logits[:, foils])",
        ),
        ("compare their logits, not their ids.", f"{WINS} => (answers > foils)"),
        (
            "by how much the answer wins does not matter: count the probes in which it does.",
            f"{WINS} => (logits[rows, answers] - logits[rows, foils])",
        ),
    ],
)


def best_span(start, end, longest):
    pairs = [(i, j) for i in range(1, len(start)) for j in range(i, min(i + longest, len(start)))]
    return max(pairs, key=lambda pair: float(start[pair[0]] + end[pair[1]]))


def _logits() -> list[tuple]:
    near, far = ([high - n / 100 for n in range(21)] for high in (8, 9))
    rows = (
        ([0, 1, 5, 0, 0], [0, 0, 1, 4, 0], 4),
        ([0, 0, 1, 5, 4], [0, 6, 0, 0, 5], 4),  # each by itself, the end stands before the start
        ([9, 0, 5, 0, 0], [0, 0, 0, 6, 1], 4),  # [CLS] has the highest logit
        ([0, 0, 0, 5, 0], [0, 0, 0, 6, 0], 4),  # one token
        ([0, 5, 4, 3, 0, 0], [0, 0, 0, 0, 6, 0], 3),  # the best pair is too long
        ([-9090, -9060, -9020, -9050], [-9090, -9070, -9060, -9010], 3),  # all far below zero
        ([0, 1, 0, 2, 7], [0, 3, 0, 0, 6], 2),  # the last token
        ([0, 8, 1, 7.9, 0], [0, 0, 0, 3.2, 3], 4),  # the sum of softmaxes would choose another pair
        ([0, 4, 1, 0, 5], [5, 1, 4, 3, 0], 4),  # the best start alone leads astray
        ([0, 6, 1, 1], [0, 0, 6.2, 6.9], 3),
        ([0, 0, 5, *[0] * 21, *far], [0, *near, *[0] * 23], 4),  # 21 starts are better, each without an end
    )
    return [(torch.tensor(start).float(), torch.tensor(end).float(), longest) for start, end, longest in rows]


def _span(fn, start, end, longest) -> dict:
    found = value(fn, start, end, longest)
    pair = found["result"]
    return found | {"result": [int(pair[0]), int(pair[1])]}


PAIRS = "range(i, min(i + longest, len(start)))"
SUM = "start[pair[0]] + end[pair[1]]"

check_best_span = Exercise(
    best_span,
    _logits,
    right="Right: the likeliest pair that can be an answer.",
    observe=_span,
    slips=[
        ("an answer cannot end before it starts.", f"{PAIRS} => range(1, len(start))"),
        (
            "0 is [CLS] and no word: answers start after it.",
            "for i in range(1, len(start)) => for i in range(len(start))",
        ),
        ("an answer may be one token: end = start.", f"{PAIRS} => range(i + 1, min(i + longest, len(start)))"),
        ("the answer has more than `longest` tokens, both ends counted.", "i + longest, => i + longest + 1,"),
        ("the answer has more than `longest` tokens, both ends counted.", f"{PAIRS} => range(i, len(start))"),
        ("`longest` tokens are allowed: both ends are counted.", "i + longest, => i + longest - 1,"),
        (
            "logits can all be below zero, and the two are added: multiplied, two negative ones become positive.",
            f"{SUM} => start[pair[0]] * end[pair[1]]",
        ),
        (
            "add logits, not probabilities: the product of two probabilities is what counts, and its logarithm is the "
            "sum.",
            f"{SUM} => start.softmax(0)[pair[0]] + end.softmax(0)[pair[1]]",
        ),
        (
            "the last token may start an answer too: i runs to the end.",
            "for i in range(1, len(start)) => for i in range(1, len(start) - 1)",
        ),
        (
            "the best start is not always that of the best pair: compare sums.",
            f"{SUM} => start[pair[0]] * 1000 + end[pair[1]]",
        ),
        ("the end counts as much as the start: add its logit.", f"{SUM} => start[pair[0]]"),
    ],
)
