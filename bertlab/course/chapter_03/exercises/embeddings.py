"""A lookup is a product, segments, and the input of BERT."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.course.exercise import Exercise
from bertlab.course.observe import backward, module, random_tensor, small_batch
from bertlab.course.solutions import encoder
from bertlab.course.solutions.config import Config


def lookup(ids, table):
    one_hot = F.one_hot(ids, len(table)).to(table.dtype)  # (B, S, V)
    return one_hot @ table  # (B, S, V) @ (V, H) -> (B, S, H)


PRODUCTS = ("Mm", "Bmm", "Mv", "Dot", "Mul", "Addmm", "Baddbmm", "Linear", "SparseMm", "SparseAddmm")
LOOKUPS = ("Index", "IndexSelect", "Embedding", "Gather")
BY_A_PRODUCT = "the vectors come from one-hot rows and a product"


def _looked_up(fn, ids: Tensor, table: Tensor) -> dict[str, Any]:
    leaf, given = table.clone().requires_grad_(), ids.clone()
    result = fn(ids, leaf)
    has_product = _has_product(result)
    backward(result)
    pairs = {"ids": (ids, given), "table": (leaf, table)}
    found = {"result": result, "changed": [name for name, pair in pairs.items() if not torch.equal(*pair)]}
    return found | {"gradient of table": leaf.grad, BY_A_PRODUCT: has_product}


def _has_product(result: Tensor) -> bool:
    """Whether a product, and no lookup, leads from the table to the result, by the names in autograd's graph."""
    open_nodes, seen, names = [result.grad_fn], set(), set()
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        names.add(node.name().removeprefix("Unsafe").rstrip("0123456789").removesuffix("Backward"))
        open_nodes += [following for following, _ in node.next_functions]
    return not names.isdisjoint(PRODUCTS) and names.isdisjoint(LOOKUPS)


FLOATS = "one-hot rows are whole numbers, and the product, one_hot @ table, wants floating point."

check_lookup = Exercise(
    lookup,
    lambda: [  # the last row of each table does not occur
        (torch.tensor([[2, 0, 5], [1, 1, 3]]), random_tensor(7, 4)),
        (torch.tensor([[1, 4]]), random_tensor(6, 5)),
    ],
    right="Right: the product picks a row for each id, and the gradient finds the way back.",
    observe=_looked_up,
    slips=[
        (
            "ids count from 0: id 0 is the first row of the table.",
            "F.one_hot(ids, => F.one_hot((ids - 1) % len(table),",
        ),
        (
            "every row of the batch is the same: use all of ids, not only its first row.",
            "F.one_hot(ids, => F.one_hot(ids[:1].expand_as(ids),",
        ),
        (
            "this is still one-hot, (B, S, V): multiply it by the table, (B, S, V) @ (V, H).",
            "one_hot @ table => one_hot",
        ),
        (
            "one-hot rows have V numbers, also where the largest id does not occur: F.one_hot(ids, V).",
            "F.one_hot(ids, len(table)) => F.one_hot(ids)",
        ),
        (FLOATS, ".to(table.dtype) => "),
        (
            "the vectors are right, but you indexed the table. That is how it is done in practice; here write it with "
            "one-hot rows and a product: F.one_hot(ids, V), as floating point, times the table.",
            "one_hot @ table => table[ids]",
        ),
        *(
            (
                "no gradient would reach the table, which could not learn: no detach, no new tensor from its numbers.",
                f"one_hot @ table => ({vectors}).detach()",
            )
            for vectors in ("one_hot @ table", "table[ids]")
        ),
    ],
)


def segment_ids(input_ids, sep, pad):
    is_sep = (input_ids == sep).long()  # (B, S)
    before = is_sep.cumsum(dim=1) - is_sep  # (B, S): how many [SEP] stand to the left
    return ((before == 1) & (input_ids != pad)).long()


ROWS = [[2, 7, 8, 3, 9, 3, 0, 0], [2, 7, 3, 0, 0, 0, 0, 0], [2, 7, 3, 8, 9, 9, 9, 3]]
RESULT = "((before == 1) & (input_ids != pad)).long()"

check_segment_ids = Exercise(
    segment_ids,
    lambda: [
        (torch.tensor(ROWS), 3, 0),
        (torch.tensor([[8, 4, 5, 9, 9, 1, 1], [8, 4, 0, 9, 1, 1, 1], [8, 4, 9, 0, 6, 9, 1]]), 9, 1),
    ],
    right="Right: 0 up to the first [SEP], 1 up to the second, 0 on padding.",
    slips=[
        (
            "the first [SEP] closes the first text: it belongs to segment 0, the count starts behind it.",
            "before == 1 => is_sep.cumsum(dim=1) == 1",
        ),
        (
            "cumsum counts a [SEP] at its own position too: take it off there, then see to the padding.",
            f"{RESULT} => is_sep.cumsum(dim=1)",
        ),
        (
            "padding is in segment 0, also behind a single text: it belongs to no second text.",
            f"{RESULT} => before.clamp(max=1)",
        ),
        ("behind the last [SEP] comes padding: segment 0, not 2.", f"{RESULT} => before"),
        ("behind a single text comes padding, not a second text: segment 0.", " & (input_ids != pad) => "),
        ("padding is what has the id `pad`, which need not be 0.", "!= pad => != 0"),
        ("a [SEP] is what has the id `sep`, which need not be 3.", "== sep => == 3"),
        (
            "the last [SEP] closes the second text: it belongs to segment 1.",
            "(input_ids != pad) => (input_ids != pad) & (is_sep == 0)",
        ),
        ("the segments are the wrong way round: the first text is 0.", f"{RESULT} => 1 - {RESULT}"),
        ("return whole numbers (torch.long): they are looked up in a table.", f"{RESULT} => {RESULT[:-7]}"),
        ("return whole numbers (torch.long): they are looked up in a table.", f"{RESULT} => {RESULT[:-7]}.float()"),
    ],
)


def _embedded() -> list[tuple]:
    sizes = ((12, 30, 9, 2, 0, 7), (7, 40, 8, 3, 3, 5))  # hidden size, vocabulary, positions, segments, [PAD], tokens
    options: dict[str, Any] = {"hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    return [
        (
            (Config(V, H, max_position_embeddings=P, type_vocab_size=T, pad_token_id=pad, **options),),
            {"forward": (ids, types)},
        )
        for H, V, P, T, pad, S in sizes
        for ids, _, types in [small_batch(width=S)]
    ]


TOTAL = "self.word(input_ids) + self.segment(token_type_ids) + self.position(positions)"

check_embeddings = Exercise(
    encoder.Embeddings,
    _embedded,
    right="Right: with the same weights your embeddings and the library's give the same.",
    observe=module,
    kept=("Embeddings",),
    slips=[
        ("the positions are missing.", " + self.position(positions) => "),
        ("the segments are missing.", " + self.segment(token_type_ids) => "),
        ("the words are missing.", "self.word(input_ids) +  => "),
        ("the LayerNorm is missing.", "self.norm(total) => total"),
        (
            "add first; the sum alone is normalised.",
            f"{TOTAL} => self.norm(self.word(input_ids)) + self.norm(self.segment(token_type_ids)) + "
            f"self.norm(self.position(positions))",
            "self.norm(total) => total",
        ),
        (
            "positions count from 0 in each row: torch.arange(S), not ids.",
            "self.position(positions) => self.position(input_ids % 8)",
        ),
        (
            "positions count from 0: yours begin at 1.",
            "torch.arange(input_ids.size(1) => 1 + torch.arange(input_ids.size(1)",
        ),
        (
            "positions are 0 to S - 1 for every row: yours are the segments.",
            "self.position(positions) => self.position(token_type_ids)",
        ),
        (
            "a table was asked for a row that it does not have: input_ids name rows of `word`, token_type_ids rows of "
            "`segment`, and 0 to S - 1 rows of `position`.",
            "self.word(input_ids) + self.segment(token_type_ids) => self.word(token_type_ids) + "
            "self.segment(input_ids)",
        ),
        (
            "a table was asked for a row that it does not have: input_ids name rows of `word`, token_type_ids rows of "
            "`segment`, and 0 to S - 1 rows of `position`.",
            "self.position(positions) => self.position(input_ids)",
        ),
        (
            "the first S rows of the table of positions are for this batch, not all of it.",
            "self.position(positions) => self.position.weight",
        ),
        (
            "the row of [PAD] would be trained: padding_idx=config.pad_token_id.",
            ", padding_idx=config.pad_token_id => ",
        ),
        ("the row of [PAD] is config.pad_token_id, which need not be 0.", "config.pad_token_id => 0"),
        (
            "position 0 is a position like any other and has to learn: padding_idx is for words alone.",
            "self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size) => self.position = "
            "nn.Embedding(config.max_position_embeddings, config.hidden_size, padding_idx=0)",
        ),
        (
            "segment 0 is a segment like any other and has to learn: padding_idx is for words alone.",
            "nn.Embedding(config.type_vocab_size, config.hidden_size) => nn.Embedding(config.type_vocab_size, "
            "config.hidden_size, padding_idx=0)",
        ),
        (
            "the positions are not learned: their table gets no gradient; no no_grad and no detach.",
            "self.position(positions) => self.position(positions).detach()",
        ),
        (
            "the segments are not learned: their table gets no gradient; no no_grad and no detach.",
            "self.segment(token_type_ids) => self.segment(token_type_ids).detach()",
        ),
        (
            "the words are not learned: their table gets no gradient; no no_grad and no detach.",
            "self.word(input_ids) => self.word(input_ids).detach()",
        ),
        ("LayerNorm has its own eps: use config.layer_norm_eps.", ", eps=config.layer_norm_eps => "),
        (
            "in training nothing is dropped: nn.Dropout belongs after the LayerNorm.",
            "self.dropout(self.norm(total)) => self.norm(total)",
        ),
        (
            "dropout comes last, after the LayerNorm.",
            "self.dropout(self.norm(total)) => self.norm(self.dropout(total))",
        ),
        (
            "after .eval() numbers are still dropped: nn.Dropout knows when, F.dropout does not.",
            "self.dropout(self.norm(total)) => F.dropout(self.norm(total), 0.4)",
        ),
        ("use the number in config: hidden_dropout_prob.", "config.hidden_dropout_prob => 0.1"),
    ],
)
