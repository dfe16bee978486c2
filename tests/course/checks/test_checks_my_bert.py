"""The checkers of what only my_bert.py has: right answers pass, and the mistake of each known wrong one is named."""

import random
import unicodedata

import torch
from torch import nn

from bertlab.course import check_batches, check_collate, check_embeddings, check_initialise, check_tokenizer
from bertlab.course.solutions import encoder, training
from bertlab.course.solutions import pretraining as sentence_pairs
from bertlab.course.solutions import tokenizer as wordpiece
from tests.course.checks.checking import checker_tests

# Tokenizer


class Tokenizer(wordpiece.Tokenizer):
    def ids(self, text):
        pieces = [piece for word in self.words(text) for piece in wordpiece.cut_word(word, self.vocabulary)]
        return [self.vocabulary[piece] for piece in pieces]

    def words(self, text):
        return wordpiece.split(wordpiece.clean(text))


class Accents(Tokenizer):
    def words(self, text):
        return wordpiece.split(text.lower())


class Capitals(Tokenizer):
    def words(self, text):
        parts = unicodedata.normalize("NFD", text)
        return wordpiece.split("".join(c for c in parts if unicodedata.category(c) != "Mn"))


class Spaces(Tokenizer):
    def words(self, text):
        return wordpiece.clean(text).split()


class Wrapped(Tokenizer):
    def ids(self, text):
        return [2, *super().ids(text), 3]


class Pieces(Tokenizer):
    def ids(self, text):
        return [piece for word in self.words(text) for piece in wordpiece.cut_word(word, self.vocabulary)]


class ByWord(Tokenizer):
    def ids(self, text):
        return [[self.vocabulary[p] for p in wordpiece.cut_word(w, self.vocabulary)] for w in self.words(text)]


class Whole(Tokenizer):
    def ids(self, text):
        return [self.vocabulary[word] for word in self.words(text)]


class Nameless(Tokenizer):
    def __init__(self, vocabulary):
        super().__init__(vocabulary)
        del self.mask_token_id


# Embeddings


class Embeddings(encoder.Embeddings):
    def forward(self, input_ids, token_type_ids):
        place = self.position(self.places(input_ids))
        return self.last(self.word(input_ids) + self.segment(token_type_ids) + place)

    def places(self, input_ids):
        return torch.arange(input_ids.size(1))

    def last(self, total):
        return self.dropout(self.norm(total))


class FromOne(Embeddings):
    def places(self, input_ids):
        return torch.arange(input_ids.size(1)) + 1


class Bare(Embeddings):
    def last(self, total):
        return self.dropout(total)


class Undropped(Embeddings):
    def last(self, total):
        return self.norm(total)


class AlwaysDropped(Embeddings):
    def last(self, total):
        return nn.functional.dropout(self.norm(total), 0.5)


class NoSegments(Embeddings):
    def forward(self, input_ids, token_type_ids):
        return super().forward(input_ids, token_type_ids * 0) - self.norm.bias * 0

    def last(self, total):
        return self.norm(total - self.segment.weight[0])


class Unpadded(Embeddings):
    def __init__(self, config):
        super().__init__(config)
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)


# Initial weights


def initialise(model, std=0.02):
    encoder.initialise(model, std)


def without_biases(model, std=0.02):
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
    model.word.weight.data[0] = 0


def padding_too(model, std=0.02):
    without_biases(model, std)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    nn.init.normal_(model.word.weight, std=std)


def in_one_loop(model, std=0.02):
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            module.weight.data[module.padding_idx] = 0


def every_table(model, std=0.02):
    encoder.initialise(model, std)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight.data[module.padding_idx] = 0


def truncated(model, std=0.02):
    encoder.initialise(model, std)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)


def variance(model, std=0.02):
    encoder.initialise(model, std**2)


def untied(model, std=0.02):
    encoder.initialise(model, std)
    model.word.weight = nn.Parameter(model.word.weight.clone())


def all_weights(model, std=0.02):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=std) if parameter.ndim > 1 else nn.init.zeros_(parameter)
    model.word.weight.data[0] = 0


def uniform(model, std=0.02):
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -std * 3**0.5, std * 3**0.5)


def fixed_std(model, std=0.02):
    encoder.initialise(model, 0.02)


def nothing(model, std=0.02):
    model.word.weight.data[0] = 0


# Batches


def collate_with(**changed):
    def collate(pairs, tokenizer):
        batch = sentence_pairs.collate(pairs, tokenizer)
        return {name: changed.get(name, lambda x, b: x)(tensor, batch) for name, tensor in batch.items()}

    return collate


def without_labels(pairs, tokenizer):
    batch = sentence_pairs.collate(pairs, tokenizer)
    return {name: tensor for name, tensor in batch.items() if name != "next_sentence_label"}


def batches_with(change=lambda batch: batch, seed=None, **fixed):
    def batches(documents, tokenizer, size, max_tokens, rate, given):
        options = {"size": size, "max_tokens": max_tokens, "rate": rate} | fixed
        for batch in training.batches(documents, tokenizer, **options, seed=seed(given) if seed else given):
            yield change(batch)

    return batches


def one_round(documents, tokenizer, size, max_tokens, rate, seed):
    for number, batch in enumerate(training.batches(documents, tokenizer, size, max_tokens, rate, seed)):
        if number == 3:
            return
        yield batch


def swapped(batch):
    return batch | {"next_sentence_label": 1 - batch["next_sentence_label"]}


RIGHT = {
    check_tokenizer: Tokenizer,
    check_embeddings: Embeddings,
    check_initialise: initialise,
    check_collate: sentence_pairs.collate,
    check_batches: training.batches,
}
MISTAKES = {
    check_tokenizer: {
        "accents go": Accents,
        "capitals become small": Capitals,
        "plain words and a full stop": Spaces,
        "leave [CLS] and [SEP]": Wrapped,
        "these are pieces": Pieces,
        "one list for the whole text": ByWord,
        "look up what cut_word returns": Whole,
        "mask_token_id should be": Nameless,
    },
    check_embeddings: {
        "yours begin at 1": FromOne,
        "the LayerNorm is missing": Bare,
        "in training nothing is dropped": Undropped,
        "the result is not": AlwaysDropped,
        "the segments are missing": NoSegments,
        "padding_idx": Unpadded,
    },
    check_initialise: {
        "biases begin at 0": without_biases,
        "the row of [PAD]": padding_too,
        "draws it again": in_one_loop,
        "a table without padding_idx": every_table,
        "are cut at two std": truncated,
        "squared": variance,
        "came apart": untied,
        "LayerNorm begins": all_weights,
        "are uniform": uniform,
        "should be 0.3": fixed_std,
        "PyTorch's own start": nothing,
    },
    check_collate: {
        "is not in your dictionary": without_labels,
        "0 on padding.": collate_with(token_type_ids=lambda x, b: x | (1 - b["attention_mask"])),
        "and its [SEP]": collate_with(token_type_ids=lambda x, b: x * 0),
        "1 on tokens": collate_with(attention_mask=lambda x, b: 1 - x),
        "input_ids should be (3": collate_with(input_ids=lambda x, b: x[:, :-1]),
    },
    check_batches: {
        "end after": one_round,
        "[CLS] and two [SEP] count": batches_with(max_tokens=27),
        "every batch has `size` rows": batches_with(size=5),
        "should be 15%": batches_with(rate=0.5),
        "two seeds gave one": batches_with(seed=lambda seed: 0),
        "same seed gave two": batches_with(seed=lambda seed: random.randrange(10**6)),
        "does not fit its pair": batches_with(swapped),
        "labels are there": batches_with(
            lambda batch: batch | {"input_ids": torch.where(batch["labels"] > 0, batch["labels"], batch["input_ids"])}
        ),
    },
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)
