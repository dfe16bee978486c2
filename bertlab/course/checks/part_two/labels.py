"""Checkers of labels of words: names from BIO labels, labels at first pieces, what BIO allows, the tagger itself."""

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.course.checks.base import checker, close, run
from bertlab.course.matching import load_matching
from bertlab.course.observe import expect
from bertlab.course.solutions import every_token as solution
from bertlab.course.solutions.config import SPECIAL, Config
from bertlab.course.solutions.tokenizer import Tokenizer
from bertlab.model import BertForTokenClassification
from bertlab.tasks.token import entities

NAMES = ["O", *(f"{prefix}-{kind}" for kind in ("person", "place", "pet") for prefix in "BI")]
WORDS, NUMBERS = ["ada", "gave", "the", "valleyfield", "rosebuds", "back"], [1, 0, 0, 3, 4, 0]
PIECES = ["ada", "gave", "the", "valley", "##field", "rose", "##bud", "##s", "back"]
NAMED = [  # labels, and what it means to read other names from them
    (["O", "B-pet", "O"], "a name of one word begins and ends at that word: (kind, first, last), counted from 0."),
    (["B-pet", "I-pet", "O"], "B-pet, I-pet is one name of two words: (pet, 0, 1), with its last word."),
    (["O", "B-pet", "I-pet"], "a name at the end of the sentence is lost: no O comes behind it to close it."),
    (["B-pet", "B-pet", "I-pet"], "two names stand side by side here: each B- begins a new one."),
    (["O", "I-pet", "I-pet"], "a name that begins with I- is lost: nothing is open, so this I- begins one."),
    (["B-person", "I-place"], "B-person, I-place are two names: an I- of another kind continues nothing."),
    (["B-pet", "O", "I-pet"], "an O ends a name: the I- behind it begins another one."),
]


@checker
def check_entities(fn: Callable[[list[str]], list[tuple[str, int, int]]]) -> None:
    """Check fn(BIO labels) -> [(kind, first, last), ...] as conlleval reads them."""
    expect(run(fn, ["O", "O"]) == [], "where every label is O there is no name: return an empty list.")
    for labels, message in NAMED:
        found = run(fn, list(labels))
        expect(isinstance(found, list) and all(len(one) == 3 for one in found), "return a list of (kind, first, last).")
        expect(not any("-" in str(one[0]) for one in found), "the kind of a name is pet, not B-pet.")
        expect([tuple(one) for one in found] == spans_of(labels), f"{', '.join(labels)}: {message}")
    rng = random.Random(0)
    for _ in range(200):
        labels = rng.choices(NAMES, k=rng.randint(1, 9))
        found = [tuple(one) for one in run(fn, list(labels))]
        expect(found == spans_of(labels), f"{', '.join(labels)}: the names are {spans_of(labels)}, yours are {found}.")
    print("Right: the names that CoNLL's script counts.")


def spans_of(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    return [(one.kind, one.first, one.last) for one in entities([""] * len(labels), labels)]


@checker
def check_align(fn: Callable[[Sequence[str], Sequence[int], Any], tuple[list[int], list[int]]]) -> None:
    """Check fn(words, labels, tokenizer) -> ids of [CLS] words [SEP], labels at first pieces and -100 elsewhere."""
    tokens = [*SPECIAL, *PIECES]
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    result = run(fn, list(WORDS), list(NUMBERS), tokenizer)
    expect(isinstance(result, tuple) and len(result) == 2, "return two lists: the ids, and the labels.")
    ids, labels = (part.tolist() if isinstance(part, Tensor) else list(part) for part in result)
    inside = [number for word in WORDS for number in tokenizer.ids(word)]
    expect(ids != inside, "[CLS] and [SEP] are missing around the words.")
    right = [tokenizer.cls_token_id, *inside, tokenizer.sep_token_id]
    expect(ids == right, f"the ids should be {right}; yours are {ids}.")
    _check_labels(labels)
    _check_word_without_pieces(fn, tokenizer)
    print("Right: each label stands at the first piece of its word, and nothing else is asked.")


def _check_labels(labels: list[int]) -> None:
    first = [1, 0, 0, 3, IGNORED, 4, IGNORED, IGNORED, 0]
    right = [IGNORED, *first, IGNORED]
    spread, last = [1, 0, 0, 3, 3, 4, 4, 4, 0], [1, 0, 0, IGNORED, 3, IGNORED, IGNORED, 4, 0]
    zeros = [label if label != IGNORED else 0 for label in first]
    expect(labels != first, "the labels are shifted: [CLS] and [SEP] need a -100 each, as they have ids too.")
    expect(labels != [*first, IGNORED, IGNORED], "the labels are shifted by [CLS]: its -100 comes first.")
    expect(
        labels[1:-1] != spread, "every piece has the label of its word: only the first piece is asked, the rest -100."
    )
    expect(labels[1:-1] != last, "the labels stand at the last piece of each word: the first one has it.")
    expect(labels[1:-1] != zeros, "0 is the number of a label (O): the later pieces get -100, which means not asked.")
    ends = labels[1:-1] == first and labels != right
    expect(not ends, "[CLS] and [SEP] have a label: give them -100, which means not asked.")
    nothing = [label or IGNORED for label in first]
    expect(labels[1:-1] != nothing, "the label 0 is lost: 0 counts as False in Python; ask for the position instead.")
    expect(len(labels) == len(right), f"there are {len(right)} ids and {len(labels)} labels: each id needs one.")
    expect(labels == right, f"the labels should be {right}; yours are {labels}.")


def _check_word_without_pieces(fn: Callable, tokenizer: Any) -> None:
    ids, labels = run(fn, ["ada", "\u200b", "back"], [1, 2, 3], tokenizer)
    unknown = tokenizer.vocabulary["[UNK]"]
    ada, back = tokenizer.vocabulary["ada"], tokenizer.vocabulary["back"]
    right = [tokenizer.cls_token_id, ada, unknown, back, tokenizer.sep_token_id]
    message = (
        "a word of which the tokenizer leaves nothing (a control character) becomes [UNK], so that it has a label."
    )
    expect(list(ids) == right and list(labels) == [IGNORED, 1, 2, 3, IGNORED], message)


@checker
def check_may_follow(fn: Callable[[str, str], bool]) -> None:
    """Check fn(before, after): whether BIO allows the label `after` behind the label `before`."""
    known = [
        ("B-pet", "O", "a name may have one word: O may follow B-pet."),
        ("B-pet", "B-pet", "a name may begin right behind another: B-pet may follow B-pet."),
        ("B-pet", "I-pet", "I-pet continues B-pet."),
        ("I-pet", "I-pet", "a name may have three words: I-pet may follow I-pet."),
        ("O", "I-pet", "I- continues a name: behind O there is none to continue."),
        ("B-person", "I-pet", "I-pet cannot continue a person: the kinds must be the same."),
        ("I-person", "I-pet", "I-pet cannot continue a person, whatever its prefix: the kinds must be the same."),
    ]
    for before, after, message in known:
        expect(bool(run(fn, before, after)) == solution.may_follow(before, after), message)
    for before, after in product(NAMES, NAMES):
        verdict = "is allowed" if solution.may_follow(before, after) else "is forbidden"
        expect(
            bool(run(fn, before, after)) == solution.may_follow(before, after), f"{after} behind {before} {verdict}."
        )
    print("Right: only I- is choosy, and it wants its own kind before it.")


@checker
def check_token_classifier(cls: type[nn.Module]) -> None:
    """Check cls(config, num_labels): forward -> logits (B, S, N), and the loss, as the library's
    BertForTokenClassification."""
    mine, theirs = _taggers(cls, 3, token_decoder="linear")
    batch = _batch()
    inputs = [batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")]
    logits = run(mine, *inputs)
    expect(isinstance(logits, Tensor) and logits.shape == (2, 7, 3), "forward returns the logits (B, S, N).")
    real = batch["attention_mask"].bool()
    expect(close(logits[real], theirs(*inputs).logits[real]), "the logits are not classifier(last hidden state).")
    _check_loss(run(mine.loss, batch), theirs(*inputs, labels=batch["labels"]).loss)
    print("Right: the logits and the loss of the library.")


def _taggers(cls: type[nn.Module], option: Any, **fields: Any) -> tuple[Any, BertForTokenClassification]:
    """The reader's model and the library's, with the same random weights, in eval mode."""
    names = {number: name for number, name in enumerate(NAMES[:3])}
    sizes: dict[str, Any] = dict(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24
    )
    sizes["max_position_embeddings"] = 16
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        theirs = BertForTokenClassification(BertConfig(**sizes, id2label=names, **fields)).eval()
        for parameter in theirs.parameters():
            nn.init.normal_(parameter, std=0.5)
        mine = run(cls, Config(**sizes), option).eval()
    report = load_matching(mine, theirs)
    wrong = report.missing or report.misshapen
    expect(not wrong, f"your parameters are not those of the library.\n{report}")
    return mine, theirs


def _batch() -> dict[str, Tensor]:
    """Two rows of words, the second one shorter; labels at first pieces."""
    return dict(
        input_ids=torch.arange(14).view(2, 7) + 5,
        attention_mask=torch.tensor([[1] * 7, [1] * 5 + [0] * 2]),
        token_type_ids=torch.zeros(2, 7, dtype=torch.long),
        labels=torch.tensor([[-100, 1, 2, -100, 0, 1, -100], [-100, 0, -100, 1, -100, -100, -100]]),
    )


def _check_loss(found: Any, right: Tensor) -> None:
    expect(isinstance(found, Tensor) and found.ndim == 0, "loss(batch) returns one number, a tensor.")
    expect(close(found, right), f"the loss should be {right:.4f}, the mean over the words; yours is {found:.4f}.")


@checker
def check_crf_tagger(cls: type[nn.Module]) -> None:
    """Check cls(config, names): the loss and the predictions of the library with token_decoder="crf"."""
    mine, theirs = _taggers(cls, NAMES[:3], token_decoder="crf")
    batch = _batch()
    inputs = [batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")]
    right = theirs(*inputs, labels=batch["labels"])
    _check_loss(run(mine.loss, batch), right.loss)
    logits, _, mask = run(mine.words, batch)
    found = [row[real].tolist() for row, real in zip(run(mine.decode, logits, mask), mask, strict=True)]
    expect(found == theirs.decode(right.logits, batch["labels"] != IGNORED), "decode does not give the likeliest path.")
    print("Right: the loss and the labels of the library.")


class _Stub(nn.Module):
    """A tagger whose logits say which token stands there."""

    def words(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        rows = [row[labels != IGNORED] for row, labels in zip(batch["input_ids"], batch["labels"], strict=True)]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        mask = nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).bool()
        return nn.functional.one_hot(ids % 3, 3).float(), ids, mask

    def decode(self, logits: Tensor, mask: Tensor) -> Tensor:
        return logits.argmax(-1)


@checker
def check_tagging(word_inputs: Callable, tag: Callable) -> None:
    """Check word_inputs(examples, tokenizer, max_tokens) -> batch, and tag(model, sentences, tokenizer, names)."""
    tokens = [*SPECIAL, *PIECES]
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    batch = run(word_inputs, [(WORDS, NUMBERS), (["the", "ada"], [2, 1])], tokenizer, 8)
    shapes = {tuple(tensor.shape) for tensor in batch.values()}
    expect(shapes == {(2, 8)}, f"each tensor should be (2, 8) where max_tokens is 8; yours are {sorted(shapes)}.")
    expect(batch["input_ids"][:, 0].tolist() == [tokenizer.cls_token_id] * 2, "every row begins with [CLS].")
    expect(int(batch["input_ids"][0, 7]) == tokenizer.sep_token_id, "a row that is cut still ends with [SEP].")
    expect(batch["attention_mask"].sum(1).tolist() == [8, 4], "attention_mask is 1 on tokens, 0 on padding.")
    asked = [row[row != IGNORED].tolist() for row in batch["labels"]]
    expect(asked == [[1, 0, 0, 3, 4], [2, 1]], "labels stand at first pieces, and padding has -100.")
    sentences = [["ada", "back"], ["valleyfield"]] * 40
    right = [[NAMES[tokenizer.ids(word)[0] % 3] for word in words] for words in sentences]
    expect(run(tag, _Stub(), sentences, tokenizer, NAMES) == right, "tag returns one label for each word, as a name.")
    print("Right: batches of words, and a label for each.")
