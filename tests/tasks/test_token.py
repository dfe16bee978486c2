"""Labels of words: from sentences to rows and back, in several rows too, and the names that they mark."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import BertConfig, BertForTokenClassification, InputError
from bertlab.corpora.examples import TokenExample
from bertlab.tasks.token import Entity, TokenPrediction, TokenTask, _joined, entities, words_of

NAMES = dict(enumerate(["O", "B-x", "I-x"]))


@pytest.fixture
def task(tok) -> TokenTask:
    return TokenTask(tok, 16)


def example(words: str, labels: str | None = None, name: str = "1") -> TokenExample:
    return TokenExample(name, tuple(words.split()), tuple(labels.split()) if labels else None)


@pytest.fixture(params=["linear", "cnn", "crf"])
def model(request, config):
    torch.manual_seed(2)
    changed = config.changed(
        vocab_size=400, max_position_embeddings=64, id2label=NAMES, token_decoder=request.param, initializer_range=0.5
    )
    return BertForTokenClassification(changed).eval()


def test_settled_by_the_labels_that_occur(task):
    assert task.head_fields([example("a b c", "O B-y I-x")]) == {
        "id2label": dict(enumerate("O B-x I-x B-y I-y".split()))
    }
    marks = task.head_fields([example("a b", "O S-x")])["id2label"].values()
    assert list(marks) == ["O", "B-x", "I-x", "E-x", "S-x"]
    with pytest.raises(InputError, match="no word of the 1 sentences is labelled"):
        task.head_fields([example("a b", "O O")])


def test_plain_labels_settle_the_measure(task):
    assert task.head_fields([example("a b c", "NOUN DET NOUN")]) == {"id2label": {0: "DET", 1: "NOUN"}}
    assert task.best == "token_accuracy"
    assert task.head_fields([example("a b c", "PER O LOC")]) == {"id2label": {0: "O", 1: "LOC", 2: "PER"}}
    assert task.best == "f1"
    with pytest.raises(InputError, match="all words have the label 'DET'"):
        task.head_fields([example("a b", "DET DET")])
    many = [example(f"w{n}", f"lemma{n}", str(n)) for n in range(1001)]
    with pytest.raises(InputError, match="1,001 different labels of words are no classes; see --label-column"):
        task.head_fields(many)


@pytest.mark.parametrize(
    ("labels", "message"), [("O B-z", "example 7: .*no label 'B-z'"), (None, "example 7: has no label")]
)
def test_labels_that_do_not_fit(labels, message, task):
    with pytest.raises(InputError, match=message):
        task.check([example("a b", labels, "7")], BertConfig(id2label=NAMES))


@pytest.mark.parametrize(
    ("labels", "steps"),
    [
        ("S-x B-x O", "B-x to O"),  # BIOES: what begins must end
        ("S-x O I-x", "O to I-x"),
        ("O O B-x", "B-x to no word"),
        ("B-x " + "I-x " * 20 + "E-x", "I-x to no word"),  # longer than a row
    ],
)
def test_labels_that_a_crf_cannot_learn_are_told_before_the_training(labels, steps, task):
    names = dict(enumerate(["O", "B-x", "I-x", "E-x", "S-x"]))
    sentence = example("dog " * len(labels.split()), labels, "line 7")
    assert task.features([sentence], BertConfig(id2label=names), learn=True)
    with pytest.raises(InputError, match=f"example line 7: .*go from {steps}"):
        task.features([sentence], BertConfig(id2label=names, token_decoder="crf"), learn=True)


def test_a_row_has_room_for_a_word(tok):
    config = BertConfig(id2label=NAMES)
    assert len(TokenTask(tok, 3).features([example("the dog", "O B-x")], config, learn=True)) == 2
    with pytest.raises(InputError, match="max_length=2 leaves no room"):
        TokenTask(tok, 2).features([example("the dog", "O B-x")], config, learn=True)


def test_every_word_gets_a_label_however_long_the_sentence(task, model):
    sentences = [example(" ".join(f"word{n} the dog" for n in range(count)), None, str(count)) for count in (1, 30, 4)]
    odd = TokenExample("odd", ("a", "\x01", "extraordinarily" * 9, "dog"))
    for sentence, said in zip([*sentences, odd], task.predict(model, [*sentences, odd]), strict=True):
        assert said.words == sentence.words and len(said.labels) == len(sentence.words)
        assert set(said.labels) <= set(NAMES.values())
        if model.config.token_decoder == "crf":  # judges a sentence as a whole
            assert said.probabilities is None
        else:
            assert len(said.probabilities) == len(sentence.words)
            assert min(said.probabilities) > 1 / 3 - 1e-6  # the likeliest of three


def test_predictions_are_those_of_each_sentence_alone(task, model):
    sentences = [example("the red dog " * count, None, str(count)) for count in (1, 3, 9, 2)]
    for sentence, said in zip(sentences, task.predict(model, sentences), strict=True):
        (alone,) = task.predict(model, [sentence])
        assert said.labels == alone.labels


def test_a_long_sentence_is_labelled_from_rows_that_overlap(task, model):
    sentence = example("the a b . " * 8)
    rows = task.features([sentence], model.config, learn=False)
    ends = [row.first_word + len(row.positions) for row in rows]
    assert ends[-1] == 32 and all(row.first_word < end for row, end in zip(rows[1:], ends, strict=False))
    said = next(task.predict(model, [sentence])).labels
    alone = [
        next(task.predict(model, [TokenExample("", sentence.words[row.first_word : end])])).labels
        for row, end in zip(rows, ends, strict=True)
    ]
    assert len({*said}) > 1
    for word, label in enumerate(said):
        pairs = zip(rows, alone, strict=True)
        assert label in [
            labels[word - row.first_word] for row, labels in pairs if 0 <= word - row.first_word < len(labels)
        ]


def test_a_name_at_the_edge_of_a_row_is_whole():
    words = tuple("he met Ann in New York on Sunday".split())
    first = "O O B-who O B-where I-where".split()  # words 0 to 5
    then = "O B-where I-where I-where O".split()  # words 3 to 7
    rows = {3: (then, [0.5] * 5), 0: (first, [0.9] * 6)}
    said = _joined(TokenExample("1", words), rows, certain=True)
    assert said.labels == tuple("O O B-who O B-where I-where I-where O".split())
    assert said.probabilities == (0.9,) * 4 + (0.5,) * 4


def test_rows_to_learn_from_share_no_word(task):
    sentence = example("the a b . " * 8, "O B-x I-x O " * 8)
    rows = task.features([sentence], BertConfig(id2label=NAMES), learn=True)
    firsts = [row.first_word for row in rows]
    assert len(rows) > 1 and firsts[1:] == [row.first_word + len(row.positions) for row in rows[:-1]]


@pytest.mark.parametrize("names", ["O PER-B PER-I", "O B_PER I_PER", "o b-PER i-PER", "O B-PER I-PER"])
def test_a_published_model_may_spell_its_labels_otherwise(names, task, model):
    """Predictions have the spelling that files end in, and files are checked by it."""
    usual = model.config.changed(id2label=dict(enumerate(["O", "B-PER", "I-PER"])))
    model.config = model.config.changed(id2label=dict(enumerate(names.split())))
    (said,) = task.predict(model, [example("the red dog " * 2)])
    assert {*said.labels} <= {*usual.label2id}
    gold = example("the red dog", "O B-PER I-PER")
    task.check([gold], model.config)
    (row,) = task.features([gold], model.config, learn=True)
    assert [row.targets["labels"][position] for position in row.positions] == [0, 1, 2]


@pytest.mark.parametrize("names", ["O I-PER B-PER", "O I-PER"])
def test_a_published_model_may_begin_names_with_an_inside_label(names, task):
    """As in IOB1 and IO. Files end in BIO."""
    config = BertConfig(id2label=dict(enumerate(names.split())))
    gold = [example("Ann Lee met Bob", "B-PER I-PER O B-PER")]
    task.check(gold, config)
    said = [TokenPrediction(gold[0].words, ("I-PER", "I-PER", "O", "I-PER"), None)]
    found = task.measures(gold, said)
    assert found["f1"] == found["token_accuracy"] == 1
    (row,) = task.features(gold, config, learn=True)
    learned = [row.targets["labels"][position] for position in row.positions]
    assert learned == ([2, 1, 0, 2] if "B-PER" in names else [1, 1, 0, 1])


def test_words_are_right_however_the_ends_of_names_are_marked(task):
    """A model that learned BIOES is measured on BIO; of two in BIOES the ends count, as seqeval's accuracy has it."""
    bio, bioes = "B-x I-x O B-x", "B-x E-x O S-x"
    assert task.measures([example("a b c d", bio)], [predicted(bioes)])["token_accuracy"] == 1
    assert task.measures([example("a b c d", bioes)], [predicted("B-x I-x O S-x")])["token_accuracy"] == 3 / 4


def predicted(labels: str) -> TokenPrediction:
    return TokenPrediction(("a", "b", "c", "d"), tuple(labels.split()), None)


def test_labels_of_python_are_in_the_usual_spelling(task):
    with pytest.raises(InputError, match="write B-PER for PER-B, I-PER for PER-I"):
        task.head_fields([example("a b c", "O PER-B PER-I")])


def test_names_keep_the_accents_and_vowel_signs_at_their_end(tok):
    for text in ("Jose\u0301 cafe\u0301", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e"):
        assert [text[a:b] for a, b in words_of(text, tok)] == text.split()


def test_a_label_is_read_at_the_first_piece(task, config):
    """Against the logits of the whole row."""
    torch.manual_seed(3)
    model = BertForTokenClassification(config.changed(vocab_size=400, id2label=NAMES, initializer_range=0.5)).eval()
    words = ("the", "extraordinary", "dog")
    pieces = [len(task.tokenizer.tokenize(word)) for word in words]
    assert pieces[1] > 1
    task.max_length = sum(pieces) + 2
    with torch.inference_mode():
        logits = model(**task.tokenizer([" ".join(words)])).logits[0]  # (1, S, N) -> (S, N)
    positions = [1, 1 + pieces[0], 1 + pieces[0] + pieces[1]]
    (said,) = task.predict(model, [TokenExample("1", words)])
    assert said.labels == tuple(NAMES[int(logits[position].argmax())] for position in positions)
    assert said.probabilities == pytest.approx(
        [float(logits[position].softmax(0).max()) for position in positions], abs=1e-5
    )


def test_names_that_labels_mark():
    words, labels = "Ann Lee met Bob in Rome".split(), "B-who I-who O B-who O B-where".split()
    assert entities(words, labels) == [
        Entity("who", 0, 1, "Ann Lee"),
        Entity("who", 3, 3, "Bob"),
        Entity("where", 5, 5, "Rome"),
    ]
    assert entities(words, "PER PER O PER LOC LOC".split())[::2] == [
        Entity("PER", 0, 1, "Ann Lee"),
        Entity("LOC", 4, 5, "in Rome"),
    ]
    row = TokenPrediction(tuple(words), tuple(labels), None).as_row()
    assert row["entities"][0] == {"kind": "who", "first": 0, "last": 1, "text": "Ann Lee"}


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_words_of_any_text_are_parts_of_it_in_order(tok, text):
    spans = words_of(text, tok)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))
    assert all(not text[start:end].isspace() for start, end in spans)


def test_measures_comparisons_and_baselines(task):
    gold = [example("the red dog", "O B-x O"), example("a red hat", "O B-x I-x", "2")]
    said = [TokenPrediction(e.words, e.labels, None) for e in gold]
    assert task.measures(gold, said)["f1"] == 1.0
    wrong = [said[0], replace(said[1], labels=("O", "B-x", "O"))]
    assert task.measures(gold, wrong)["f1"] == 0.5
    compared = task.compare(gold, wrong)
    assert [one.error for one in compared] == [0.0, 2.0]
    assert (compared[1].gold, compared[1].predicted) == ("red hat (x)", "red (x)")
    assert task.confusions(gold, wrong)[-2:] == [("x", "x"), ("x", "O")]
    (figures,) = task.baselines([gold[0]], gold).values()
    assert figures["recall"] == 0.5
    (figures,) = task.baselines([example("a b b", "DET X X")], [example("new a", "X DET")]).values()
    assert figures["token_accuracy"] == 1.0  # a word that is new has the most frequent label
