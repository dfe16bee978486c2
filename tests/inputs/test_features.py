"""Examples of the task families as rows: what is cut, what is labelled, how rows become a batch."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import InputError, Tokenizer
from bertlab.corpora.examples import ChoiceExample, TextExample, TokenExample
from bertlab.inputs.features import (
    LEARNED_WINDOWS,
    Feature,
    choice_features,
    collate,
    text_features,
    text_windows,
    word_features,
)
from bertlab.tokenizer import Row
from tests.conftest import tries

WORDS = "the dog is hairy red blue rose ro ##sa ##se 我 狗 . , !".split()
TOK = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
LABELS = {"O": 0, "B-x": 1, "I-x": 2, "E-x": 3, "S-x": 4}


def tokens(row: Row) -> str:
    return " ".join(TOK.convert_ids_to_tokens(row.ids))


def only(features: list[Feature]) -> Row:
    (feature,) = features
    (row,) = feature.rows
    assert len(row.ids) == len(row.types) == len(row.offsets)
    return row


# Texts and pairs


def test_a_text_and_a_pair():
    assert tokens(only(text_features([TextExample("1", "The dog")], TOK, 9))) == "[CLS] the dog [SEP]"
    row = only(text_features([TextExample("1", "The dog", "is hairy!")], TOK, 9))
    assert tokens(row) == "[CLS] the dog [SEP] is hairy ! [SEP]"
    assert row.types == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_long_text_is_read_in_windows():
    text = "the red dog is blue the rose is red"
    found = text_features([TextExample("1", "dog"), TextExample("2", text)], TOK, 6)
    assert [tokens(feature.rows[0]) for feature in found] == [
        "[CLS] dog [SEP]",
        "[CLS] the red dog is [SEP]",
        "[CLS] dog is blue the [SEP]",
        "[CLS] the rose is red [SEP]",
    ]
    assert [feature.example for feature in found] == [0, 1, 1, 1] and not any(feature.cut for feature in found)
    assert all(len(f.rows[0].ids) == len(f.rows[0].types) == len(f.rows[0].offsets) for f in found)


@given(st.integers(3, 300), st.integers(3, 40))
def test_windows_hold_the_whole_text(size, max_length):
    found = text_features([TextExample("1", "dog " * size)], TOK, max_length)
    room = max_length - 2
    assert len(found) == -(-size // room)
    assert all(len(feature.rows[0].ids) == min(size, room) + 2 for feature in found)
    starts = [part.start for part in text_windows(size, max_length)] if size > room else [0]
    assert starts[0] == 0 and (size <= room or starts[-1] == size - room)
    assert all(0 < b - a <= room for a, b in pairwise(starts))


def test_few_windows_of_a_text_are_learned_from():
    found = text_features([TextExample("1", "dog " * 99 + "blue", None, "b")], TOK, 12, {"a": 0, "b": 1})
    assert len(found) == LEARNED_WINDOWS and all(feature.targets == {"labels": 1} for feature in found)
    assert "blue" in tokens(found[-1].rows[0])


def test_what_does_not_fit_of_a_pair_is_cut_from_the_longer_and_counted():
    (pair,) = text_features([TextExample("1", "the dog", "red " * 20)], TOK, 9)
    assert tokens(pair.rows[0]) == "[CLS] the dog [SEP] red red red red [SEP]" and pair.cut == 16
    with pytest.raises(InputError, match="max_length=2"):
        text_features([TextExample("1", "dog")], TOK, 2)


def test_pairs_keep_their_partner_among_single_texts():
    examples = [
        TextExample("1", "dog"),
        TextExample("2", "red", "blue"),
        TextExample("3", "rose"),
        TextExample("4", "the", "is"),
    ]
    rows = [tokens(feature.rows[0]) for feature in text_features(examples, TOK, 9)]
    assert rows[1] == "[CLS] red [SEP] blue [SEP]" and rows[3] == "[CLS] the [SEP] is [SEP]"
    assert [feature.example for feature in text_features(examples, TOK, 9)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("label", "target"), [("b", 1), (2.5, 2.5), (("b", "c"), [0.0, 1.0, 1.0]), ((), [0.0, 0.0, 0.0])]
)
def test_labels_of_texts(label, target):
    known = {"a": 0, "b": 1, "c": 2}
    (feature,) = text_features([TextExample("1", "dog", None, label)], TOK, 9, known)
    assert feature.targets == {"labels": target} and type(feature.targets["labels"]) is type(target)
    assert text_features([TextExample("1", "dog", None, label)], TOK, 9)[0].targets == {}
    assert text_features([TextExample("1", "dog")], TOK, 9, known)[0].targets == {}


# Choices


def test_a_choice_is_a_row_for_each():
    (feature,) = choice_features([ChoiceExample("1", "the dog", ("is red", "is blue " * 9), 1)], TOK, 10)
    assert [tokens(row) for row in feature.rows] == [
        "[CLS] the dog [SEP] is red [SEP]",
        "[CLS] the dog [SEP] is blue is blue is [SEP]",
    ]
    assert feature.targets == {"labels": 1} and feature.cut == 13 and feature.length == 10
    assert choice_features([ChoiceExample("1", "the dog", ("is", "red"))], TOK, 10)[0].targets == {}


# Words


def features_of(words: str, labels: str, max_length: int):
    return word_features([TokenExample("1", tuple(words.split()), tuple(labels.split()))], TOK, max_length, LABELS)


def test_labels_stand_at_the_first_piece():
    (feature,) = features_of("The rosa is red", "O B-x O O", 9)
    assert tokens(feature.rows[0]) == "[CLS] the ro ##sa is red [SEP]"
    assert feature.targets["labels"] == [-100, 0, 1, -100, 0, 0, -100]
    assert feature.positions == (1, 2, 4, 5)


def test_long_sentences_are_cut_between_names():
    cut = features_of("the dog is hairy red rose blue dog the", "O O O B-x I-x I-x O O O", 7)
    assert [tokens(f.rows[0]) for f in cut] == [
        "[CLS] the dog is [SEP]",
        "[CLS] hairy red rose blue dog [SEP]",
        "[CLS] the [SEP]",
    ]
    assert [f.first_word for f in cut] == [0, 3, 8]
    bioes = features_of("the dog is hairy red rose", "O O O O B-x E-x", 7)
    assert [len(f.positions) for f in bioes] == [4, 2]
    single = features_of("the dog is hairy red rose", "O O O O S-x S-x", 7)
    assert [len(f.positions) for f in single] == [5, 1]


def test_a_name_longer_than_the_row_is_cut_where_the_row_ends():
    cut = features_of("the dog is hairy red rose", "B-x I-x I-x I-x I-x I-x", 6)
    assert [len(f.positions) for f in cut] == [4, 2]


def test_without_labels_rows_are_full():
    words = ("dog",) * 10
    assert [len(f.positions) for f in word_features([TokenExample("1", words)], TOK, 6)] == [4, 4, 2]
    assert all(f.targets == {} for f in word_features([TokenExample("1", words)], TOK, 6))


def test_a_word_without_pieces_is_unknown_and_keeps_its_place():
    (feature,) = features_of("dog \u200b red", "O B-x O", 9)
    assert tokens(feature.rows[0]) == "[CLS] dog [UNK] red [SEP]"
    assert feature.targets["labels"] == [-100, 0, 1, 0, -100]


def test_a_word_longer_than_the_row_is_cut_and_counted():
    word = "ro" + "sa" * 9
    (before, feature, after) = features_of(f"dog {word} red", "O B-x O", 6)
    assert tokens(feature.rows[0]) == "[CLS] ro ##sa ##sa ##sa [SEP]" and feature.cut == 6
    assert feature.targets["labels"] == [-100, 1, -100, -100, -100, -100]
    assert (before.positions, after.positions) == ((1,), (1,))


def test_chinese_words_are_pieces_of_one_word():
    (feature,) = features_of("我狗 我", "B-x O", 9)
    assert tokens(feature.rows[0]) == "[CLS] 我 狗 我 [SEP]"
    assert feature.targets["labels"] == [-100, 1, -100, 0, -100]


@tries(60)
@given(
    st.lists(
        st.tuples(st.sampled_from(["dog", "rosarosa", "\x01", "我狗我狗", "xyz"]), st.sampled_from(list(LABELS))),
        min_size=1,
    ),
    st.integers(3, 12),
)
def test_every_word_has_its_label_once_whatever_the_row(words, max_length):
    example = TokenExample("1", tuple(word for word, _ in words), tuple(label for _, label in words))
    features = word_features([example], TOK, max_length, LABELS)
    assert all(f.length <= max_length for f in features)
    found = [f.targets["labels"][position] for f in features for position in f.positions]
    assert found == [LABELS[label] for label in example.labels]
    labelled = sum(target != -100 for f in features for target in f.targets["labels"])
    assert labelled == len(words)
    assert [f.first_word for f in features] == [
        sum(len(g.positions) for g in features[:n]) for n in range(len(features))
    ]


# Batches


def test_a_batch_is_padded_and_its_labels_are_ignored_there():
    features = [*features_of("the rosa", "O B-x", 9), *features_of("dog", "O", 9)]
    batch = collate(features, TOK)
    assert batch["input_ids"].shape == batch["labels"].shape == (2, 5)
    assert batch["labels"].tolist() == [[-100, 0, 1, -100, -100], [-100, 0, -100, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1] * 5, [1, 1, 1, 0, 0]]
    assert "offset_mapping" not in batch
    longer = collate(features, TOK, 8)
    assert longer["labels"].tolist() == [[*row, -100, -100, -100] for row in batch["labels"].tolist()]
    assert longer["input_ids"].shape == (2, 8) and longer["attention_mask"].sum() == batch["attention_mask"].sum()


@pytest.mark.parametrize(
    ("labels", "dtype", "shape"),
    [(("a", "b"), torch.int64, (2,)), ((0.5, 1.0), torch.float32, (2,)), ((("a",), ()), torch.float32, (2, 2))],
)
def test_targets_of_texts_in_a_batch(labels, dtype, shape):
    examples = [TextExample(str(n), "dog", None, label) for n, label in enumerate(labels)]
    found = collate(text_features(examples, TOK, 9, {"a": 0, "b": 1}), TOK)["labels"]
    assert found.dtype == dtype and found.shape == shape


def test_choices_in_a_batch():
    examples = [
        ChoiceExample("1", "dog", ("red", "blue", "rosa"), 2),
        ChoiceExample("2", "the dog", ("is", "the", "dog"), 0),
    ]
    batch = collate(choice_features(examples, TOK, 9), TOK)
    assert batch["input_ids"].shape == batch["token_type_ids"].shape == (2, 3, 6)
    assert batch["labels"].tolist() == [2, 0]
    assert tokens(Row(batch["input_ids"][0, 2].tolist(), [], [])) == "[CLS] dog [SEP] ro ##sa [SEP]"
