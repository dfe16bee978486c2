"""Labels of words: names from BIO labels, labels at first pieces, batches, the tagger, what BIO allows."""

import random
from itertools import product
from typing import Any

import torch
from torch import nn

from bertlab.config import IGNORED
from bertlab.course.chapter_09.exercises.classifier import on_the_encoder, with_new_head
from bertlab.course.exercise import Exercise
from bertlab.course.observe import SHUFFLED, expect, random_tensor, small_batch, value
from bertlab.course.solutions import every_token
from bertlab.course.solutions.config import Config
from bertlab.course.solutions.tokenizer import Tokenizer

NAMES = ["O", *(f"{prefix}-{kind}" for kind in ("person", "place", "pet") for prefix in "BI")]


def _label_rows() -> list[tuple]:
    few = ("O O", "O B-pet O", "B-pet I-pet O", "O B-pet I-pet", "B-pet B-pet I-pet", "O I-pet I-pet")
    clashes = (
        "B-creative-work I-creative-work I-creative-team",
        "B-person I-place",
        "I-place I-pet",
        "B-pet O I-pet",
        "",
    )
    rng = random.Random(0)
    rows = [rng.choices(NAMES, k=rng.randint(1, 14)) for _ in range(200)]
    return [(row,) for row in [*map(str.split, few + clashes), *rows]]


def _names(fn, labels) -> dict[str, Any]:
    found = value(fn, labels)
    expect(all(isinstance(name, tuple) for name in found["result"]), "each name is a tuple, (kind, first, last).")
    expect(isinstance(found["result"], list), "return a list of names.")
    return found


BEGINS = "two names stand side by side here: each B- begins a new one."
KINDS = "B-person, I-place are two names: an I- of another kind continues nothing."
CONTINUES = 'prefix == "I" and found and found[-1][0] == kind and found[-1][2] == word - 1'

check_entities = Exercise(
    every_token.entities,
    _label_rows,
    right="Right: the names that CoNLL's script counts.",
    observe=_names,
    kept=("entities",),
    slips=[
        (
            "`last` is the last word of the name itself: a name of one word begins and ends at that word.",
            "return found => return [(kind, first, last + 1) for kind, first, last in found]",
        ),
        (
            "words are counted from 0, in (kind, first, last).",
            "return found => return [(kind, first + 1, last + 1) for kind, first, last in found]",
        ),
        ("B-pet, I-pet is one name of two words: (pet, 0, 1), with its last word.", f"{CONTINUES} => False"),
        (
            "a name at the end of the sentence is lost: no O comes behind it to close it.",
            "return found => return [name for name in found if name[2] < len(labels) - 1]",
        ),
        (BEGINS, 'prefix == "I" and found and found[-1][0] == kind => prefix != "O" and found'),
        (BEGINS, 'prefix == "I" and found => prefix != "O" and found'),
        (
            "a name that begins with I- is lost: nothing is open, so this I- begins one.",
            'prefix != "O" => prefix == "B"',
        ),
        (KINDS, "found[-1][0] == kind and => "),
        (KINDS, "found[-1][0] == kind and => ", "(kind, found[-1][1], word) => (found[-1][0], found[-1][1], word)"),
        ("an O ends a name: the I- behind it begins another one.", " and found[-1][2] == word - 1 => "),
        (
            "the kind of a name is pet, not B-pet.",
            "return found => return [(labels[first], first, last) for _, first, last in found]",
        ),
        (
            "the kind is all behind the first dash: of B-creative-work it is creative-work.",
            'prefix, _, kind = label.partition("-") => prefix, kind = label[0], label.split("-")[-1]',
        ),
        (
            "the kind is all behind the first dash: of B-creative-work it is creative-work.",
            'prefix, _, kind = label.partition("-") => prefix, kind = label[0], "-".join(label.split("-")[1:2])',
        ),
        ("return a list of (kind, first, last), without the words O between them.", 'elif prefix != "O": => else:'),
    ],
)

PIECES = "ada gave the valley ##field rose ##bud ##s back o '".split()


def _tokenizer() -> Tokenizer:
    return Tokenizer({token: number for number, token in enumerate([*SHUFFLED, *PIECES])})


def _sentence() -> tuple[list[str], list[int]]:
    return "ada gave the valleyfield rosebuds back".split(), [1, 0, 0, 3, 4, 0]


def _aligned(align, words, labels, tokenizer) -> dict[str, Any]:
    found = value(align, words, labels, tokenizer)
    expect(all(isinstance(each, list | tuple) for each in found["result"]), "return two lists: the ids, the labels.")
    return found


ROW = "[label] + [-100] * (len(pieces) - 1)"
ENDS = "return ids + [tokenizer.sep_token_id], row + [-100]"
UNKNOWN = ' or [tokenizer.vocabulary["[UNK]"]] => '
GONE = "a word of which the tokenizer leaves nothing (a control character) becomes [UNK], so that it has a label."

check_align = Exercise(
    every_token.align,
    lambda: [(*_sentence(), _tokenizer()), (["ada", "\u200b", "o'ada"], [1, 2, 3], _tokenizer())],
    right="Right: each label stands at the first piece of its word, and nothing else is asked.",
    observe=_aligned,
    gives=("ids", "labels"),
    kept=("align",),
    slips=[
        ("[CLS] and [SEP] are missing around the words.", f"{ENDS} => return ids[1:], row[1:]"),
        (
            "the labels are shifted: [CLS] and [SEP] need a -100 each, as they have ids too.",
            f"{ENDS} => {ENDS.replace('row + [-100]', 'row[1:]')}",
        ),
        (
            "the labels are shifted by [CLS]: its -100 comes first.",
            f"{ENDS} => {ENDS.replace('row + ', 'row[1:] + [-100] + ')}",
        ),
        (
            "every piece has the label of its word: only the first piece is asked, the rest -100.",
            f"{ROW} => [label] * len(pieces)",
        ),
        (
            "a word may have several pieces without ## (o'ada): only the first one has its label.",
            f"{ROW} => [-100 if [*tokenizer.vocabulary][each].startswith('##') else label for each in pieces]",
        ),
        (
            "the labels stand at the last piece of each word: the first one has it.",
            f"{ROW} => [-100] * (len(pieces) - 1) + [label]",
        ),
        (
            "0 is the number of a label (O): the later pieces get -100, which means not asked.",
            f"{ROW} => [label] + [0] * (len(pieces) - 1)",
        ),
        (
            "0 is the number of a label (O): all that is not asked gets -100.",
            f"{ROW} => [label] + [0] * (len(pieces) - 1)",
            "], [-100]\n => ], [0]\n",
            "row + [-100] => row + [0]",
        ),
        (
            "[CLS] and [SEP] have a label: give them -100, which means not asked.",
            "], [-100]\n => ], [0]\n",
            "row + [-100] => row + [0]",
        ),
        (
            "the label 0 is lost: 0 counts as False in Python; ask for the position instead.",
            "+= [label] => += [label or -100]",
        ),
        (GONE, UNKNOWN),
        (GONE, UNKNOWN, "        ids += => \n        if not pieces:\n            continue\n        ids +="),
        (GONE, UNKNOWN, f"{ROW} => ({ROW})[: len(pieces)]"),
    ],
)


class _Stub(nn.Module):
    """A tagger whose logits say which token stands there."""

    def words(self, batch):
        asked = batch["labels"] != IGNORED
        ids, real = (every_token.first_pieces(asked, x) for x in (batch["input_ids"], asked))
        return nn.functional.one_hot(ids % 3, 3).float(), ids, real

    def decode(self, logits, mask):
        return logits.argmax(-1)


def _tagged(word_inputs, tag, examples, max_tokens) -> dict[str, Any]:
    """Batches, and the labels of 100 sentences: by the tagger's own way to decode, and by another."""
    tokenizer = _tokenizer()
    sentences = [words for words, _ in examples] * 50
    batch = value(word_inputs, examples, tokenizer, max_tokens)
    own, other = (
        value(tag, _Stub(), sentences, tokenizer, list(NAMES), decode)
        for decode in (None, lambda logits, mask: logits.argmin(-1))
    )
    found = {"result of tag": own["result"], "result of tag with another `decode`": other["result"]}
    return {"the batch": batch["result"]} | found | {"changed": batch["changed"] + own["changed"]}


check_tagging = Exercise(
    (every_token.word_inputs, every_token.tag),
    lambda: [
        ([_sentence(), (["the", "ada"], [2, 1])], 8),
        ([(["ada", "back"], [1, 0]), _sentence()], 128),
    ],
    right="Right: batches of words, and a label for each.",
    observe=_tagged,
    kept=("word_inputs", "tag"),
    slips=[
        (
            "[PAD] is tokenizer.pad_token_id, which need not be 0.",
            "padding_value=tokenizer.pad_token_id => padding_value=0",
        ),
        ("max_tokens has no effect: rows that are longer lose their end.", "row[:-1][: max_tokens - 1] => row[:-1]"),
        ("a row that is cut still ends with [SEP].", "row[:-1][: max_tokens - 1] + row[-1:] => row[:max_tokens]"),
        ("attention_mask is 1 on tokens, 0 on padding.", "batch_first=True), => batch_first=True, padding_value=1),"),
        ("labels stand at first pieces, and padding has -100.", "padding_value=-100 => padding_value=0"),
        ("tag returns one label for each word, by its name.", "names[label] for => label for"),
        ("tag returns one label for each word, and none behind them.", "row[real].tolist() => row.tolist()"),
        ("`decode` in place of the model's own has no effect.", "(decode or model.decode) => model.decode"),
        ("sentences behind the first 64 are lost.", "range(0, len(sentences), 64) => range(0, 64, 64)"),
    ],
    spared={"[1] * len(words)": "which number marks a word that is to be tagged is free"},
)


OF_WORDS, DECODED = "words, where the mask is True,", "decode, where the mask is True,"


def on_words(kind: type[nn.Module]) -> type[nn.Module]:
    """A tagger or a CRF with two more methods: what stands behind the words of a row is free."""

    def words(self, batch):
        logits, labels, mask = self.words(batch)
        return logits[mask], labels[mask]

    def decode(self, logits, mask):
        return self.decode(logits.detach(), mask)[mask]

    return type(kind.__name__, (kind,), {OF_WORDS: words, DECODED: decode}) if isinstance(kind, type) else kind


def tagger(kind, options, runs) -> dict[str, Any]:
    return with_new_head(on_words(kind), options, runs)


def tagger_cases(option: Any) -> list[tuple]:
    """Two sizes, and rows with labels at first pieces; `option` is how many labels there are, or their names."""
    ids, mask, types = small_batch()
    labels = torch.tensor([[-1, 1, 2, -1, 0, 1, -1], [-1, 0, -1, -1, -1, -1, -1], [-1, 1, -1, 2, -1, -1, -1]])
    labels = labels.where(labels >= 0, IGNORED)
    batch = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "labels": labels}
    more: dict[str, Any] = {"max_position_embeddings": 9, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    words = random_tensor(6, 4, 3), torch.tensor([[True] * 4, *[[True] * 2 + [False] * 2] * 5])
    runs = {"forward": (ids, mask, types), OF_WORDS: (batch,), DECODED: words, "loss": (batch,)}
    return [((Config(30, H, L, A, 10, **more), option), runs) for H, A, L in ((12, 3, 2), (6, 1, 1))]


CALL = "self.bert(input_ids, attention_mask, token_type_ids)"
LOGITS = "self.classifier(self.dropout(hidden))"
LOSS = "F.cross_entropy(logits[mask], labels[mask])"

check_token_classifier = Exercise(
    every_token.BertForTokenClassification,
    lambda: tagger_cases(3),
    right="Right: the logits and the loss of the library.",
    observe=tagger,
    helpers=(every_token.first_pieces,),
    kept=("first_pieces", "BertForTokenClassification"),
    slips=[
        *on_the_encoder(CALL, "self.dropout(hidden"),
        (
            "there is one row of logits for each text: take the hidden state of each token, not the pooler's output.",
            f"hidden, _ = {CALL} => _, hidden = {CALL}",
        ),
        ("return logits, without softmax: the loss has it inside.", f"{LOGITS} => {LOGITS}.softmax(-1)"),
        (
            "in training nothing is dropped: nn.Dropout belongs before the classifier (hidden_dropout_prob).",
            f"{LOGITS} => self.classifier(hidden)",
        ),
        (
            "positions that are not asked count: the loss is the mean over the words.",
            "logits, labels, mask = self.words(batch) => labels = batch['labels'].clamp(min=0); mask = labels >= 0\n"
            "        logits = self(*map(batch.get, ('input_ids', 'attention_mask', 'token_type_ids')))",
        ),
        ("the loss is the sum: take the mean over the words.", f"{LOSS} => {LOSS[:-1]}, reduction='sum')"),
        ("the loss teaches nothing: no detach, item or no_grad on its way.", f"{LOSS} => {LOSS}.detach()"),
        ("decode gives the likeliest label of each word.", "logits.argmax(-1) => logits.argmin(-1)"),
    ],
)

KNOWN = 'before in (f"B-{after[2:]}", after)'

check_may_follow = Exercise(
    every_token.may_follow,
    lambda: [
        *product(NAMES, NAMES),
        ("B-creative-work", "I-creative-work"),
        ("B-creative-work", "I-creative-team"),
        ("B-art-work", "I-creative-work"),
        ("B-carpet", "I-pet"),
    ],
    right="Right: only I- is choosy, and it wants its own kind before it.",
    observe=lambda fn, before, after: {"result": bool(fn(before, after))},
    kept=("may_follow",),
    slips=[
        (
            "a name may have one word: O may follow B-pet.",
            lambda before, after: (before[0], after) != ("B", "O") and every_token.may_follow(before, after),
        ),
        (
            "a name may begin right behind another: B-pet may follow B-pet.",
            lambda before, after: before[0] + after[0] != "BB" and every_token.may_follow(before, after),
        ),
        ("I-pet continues B-pet.", f"{KNOWN} => before == after"),
        ("a name may have three words: I-pet may follow I-pet.", f'{KNOWN} => before == f"B-{{after[2:]}}"'),
        (
            "the kind is all behind the first dash: creative-work and creative-team are two.",
            f"{KNOWN} => before != 'O' and before.split('-')[1] == after.split('-')[1]",
        ),
        ("I- continues a name: behind O there is none to continue.", f'{KNOWN} => before == "O" or {KNOWN}'),
        ("I-pet cannot continue a person: the kinds must be the same.", f'{KNOWN} => before != "O"'),
        (
            "I-pet cannot continue a person, whatever its prefix: the kinds must be the same.",
            f'{KNOWN} => before[0] == "I" or {KNOWN}',
        ),
    ],
)
