"""Question answering end to end, against the published algorithm written out, and SQuAD's measures."""

import json
import math
import unicodedata
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bertlab import BertConfig, BertForQuestionAnswering, InputError, Tokenizer
from bertlab.cli.evaluate import needless_no_answer
from bertlab.corpora.examples import QAExample
from bertlab.corpora.storyworld import questions
from bertlab.inputs.spans import span_features
from bertlab.tasks.measures import answer_score
from bertlab.tasks.span import SpanTask, right_answers, tune_threshold
from bertlab.tasks.span_decoding import ALWAYS_ANSWER, AnswerPrediction, Span, _span
from bertlab.vocabulary import SPECIAL_TOKENS
from tests.conftest import tries

WORDS = "the man went to a store and bought milk for his hairy dog rex who likes walks in rain".split()
TOK = Tokenizer.train([" ".join(WORDS)] * 3, vocab_size=100)


@pytest.fixture(scope="module")
def reader():
    sizes = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=TOK.vocab_size, max_position_embeddings=48, initializer_range=0.3, **sizes)
    return BertForQuestionAnswering(config).eval()


def with_threshold(model, threshold):
    """The model under a config that has this threshold."""
    told = SimpleNamespace(**vars(model.config) | {"no_answer_threshold": threshold})
    return type("Told", (), {"config": told, "eval": lambda self: self, "parameters": lambda self: model.parameters(),
                             "__call__": lambda self, **inputs: model(**inputs)})()  # fmt: skip


def ask(answer="", context="the man", question="who likes walks?", number="1", others=()):
    return QAExample(number, question, context, answer, context.find(answer) if answer else -1, others=others)


def run_squad(task, model, example, threshold):
    """As run_squad.py tells it, every start and end tried: (text or "", start, end, null - best)."""
    null, best = math.inf, (-math.inf,)
    for feature in task.features([example], model.config, learn=False):
        row = feature.rows[0]
        tensors = {"input_ids": row.ids, "token_type_ids": row.types, "attention_mask": [1] * len(row.ids)}
        with torch.inference_mode():
            out = model(**{name: torch.tensor([value]) for name, value in tensors.items()})
        start, end = out.start_logits[0].tolist(), out.end_logits[0].tolist()
        null = min(null, start[0] + end[0])
        for i in range(len(start)):
            for j in range(len(end)):
                legal = i in feature.max_context and j in feature.passage and i <= j < i + task.max_answer_tokens
                if legal and start[i] + end[j] > best[0]:
                    best = start[i] + end[j], row.offsets[i][0], row.offsets[j][1]
    difference = null - best[0]
    text = "" if difference > threshold else example.context[best[1] : best[2]]
    return text, best[1], best[2], difference


passages = st.lists(st.sampled_from(WORDS), min_size=1, max_size=90).map(" ".join)


@tries(40)
@given(st.lists(passages, min_size=1, max_size=3), st.integers(1, 40), st.integers(1, 12), st.floats(-3, 3))
def test_predictions_equal_the_published_algorithm(reader, contexts, stride, longest, threshold):
    task = SpanTask(TOK, 24, stride, max_answer_tokens=longest)
    examples = [ask(context=context) for context in contexts]
    told = with_threshold(reader, threshold)
    for example, said in zip(examples, task.predict(told, examples), strict=True):
        text, start, end, difference = run_squad(task, reader, example, threshold)
        best = said.candidates[0]
        assert said.no_answer_score == pytest.approx(difference, abs=1e-4)
        if abs(difference - threshold) > 1e-4:
            assert said.text == text
            assert (said.no_answer_probability > best.probability) == (said.text == "")
        assert said.probability == pytest.approx(max(said.no_answer_probability, best.probability), abs=1e-4)
        assert best.score == pytest.approx(run_score(task, reader, example, best), abs=1e-4)
        for span in said.candidates:
            assert span.text == example.context[span.start_char : span.end_char] != ""
        assert said.text == example.context[said.start_char : said.end_char]
        scores = [span.score for span in said.candidates]
        assert scores == sorted(scores, reverse=True)
        places = [(span.start_char, span.end_char) for span in said.candidates]
        assert len(set(places)) == len(places)  # no span twice
        assert sum(span.probability for span in said.candidates) + said.no_answer_probability <= 1 + 1e-6


def run_score(task, model, example, span):
    """Score of a span in its window."""
    feature = task.features([example], model.config, learn=False)[span.window]
    with torch.inference_mode():
        out = model(**task.inputs([feature], model))
    return float(out.start_logits[0, span.start_token] + out.end_logits[0, span.end_token])


@pytest.mark.parametrize("threshold", [0.0, -2.5, 4.0])
def test_probabilities_are_a_softmax_over_all_spans_and_no_answer(reader, threshold):
    task = SpanTask(TOK, 24, 5, max_answer_tokens=4, n_best=10_000)
    said = next(task.predict(with_threshold(reader, threshold), [ask(context=" ".join(WORDS))]))
    assert len({span.window for span in said.candidates}) > 1
    tokens = len(TOK.tokenize(" ".join(WORDS)))
    assert len(said.candidates) == sum(min(4, tokens - start) for start in range(tokens))
    assert sum(s.probability for s in said.candidates) + said.no_answer_probability == pytest.approx(1)
    best = said.candidates[0]
    ratio = math.log(best.probability / said.no_answer_probability)
    assert ratio == pytest.approx(threshold - said.no_answer_score, abs=1e-4)


LETTERS = sorted({*"abcdefghijklmnopqrstuvwxyz0123456789,'.北京大学在トヨタは年सीताहन"})
SPELLED = Tokenizer.from_vocab([*SPECIAL_TOKENS, *LETTERS, *(f"##{letter}" for letter in LETTERS)])
BORDERED = "In 2018年 the Café's NFL-team, 北京大学 met トヨタは there. तुम सीता हो"


def is_border(text, place):
    """Whether a word, as spaces and marks show it, may end or begin before character `place`."""
    if not 0 < place < len(text):
        return True
    before, after = text[place - 1], text[place]
    if unicodedata.category(after)[0] == "M":
        return False
    kinds = [unicodedata.name(letter).split()[0] for letter in (before, after)]
    inside = unicodedata.category(before)[0] in "LNM" and unicodedata.category(after)[0] in "LN"
    return not inside or bool({"CJK", "KATAKANA"} & set(kinds)) or kinds[1] == "HIRAGANA"


def spelling_reader():
    sizes = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=4, intermediate_size=40)
    config = BertConfig(vocab_size=SPELLED.vocab_size, max_position_embeddings=48, initializer_range=0.3, **sizes)
    return BertForQuestionAnswering(config).eval()


def test_answers_cut_no_word_and_may_end_at_any_chinese_character():
    every = SpanTask(SPELLED, 40, 9, n_best=10_000, whole_words=False)
    whole = SpanTask(SPELLED, 40, 9, n_best=10_000)
    model, asked = spelling_reader(), ask(context=BORDERED, question="who?")
    cut, kept = (next(task.predict(model, [asked])) for task in (every, whole))
    legal = [s for s in cut.candidates if is_border(BORDERED, s.start_char) and is_border(BORDERED, s.end_char)]
    assert {(s.start_char, s.end_char) for s in kept.candidates} == {(s.start_char, s.end_char) for s in legal}
    texts = {span.text for span in kept.candidates}
    assert {"Café", "Café's", "NFL-team", "北京", "学", "ヨタ", "तुम", "हो"} <= texts
    assert not {"Caf", "NF", "201", "त"} & texts and {"Caf", "NF"} & {span.text for span in cut.candidates}
    assert sum(span.probability for span in kept.candidates) + kept.no_answer_probability == pytest.approx(1)


def test_a_word_too_long_for_an_answer_may_be_cut():
    said = next(SpanTask(SPELLED, 40, 9, max_answer_tokens=3).predict(spelling_reader(), [ask(context="a" * 60)]))
    assert 1 <= len(said.candidates[0].text) <= 3


def test_same_answers_alone_and_together(reader):
    task = SpanTask(TOK, 24)
    examples = [ask(context=" ".join(WORDS[:n]), question=" ".join(WORDS[:q])) for n, q in ((3, 2), (18, 9), (9, 1))]
    together = list(task.predict(reader, examples))
    for example, said in zip(examples, together, strict=True):
        alone = next(task.predict(reader, [example]))
        assert (said.text, said.start_char) == (alone.text, alone.start_char)
        assert said.score == pytest.approx(alone.score, abs=1e-4)


def test_rows_are_plain_json(reader):
    said = next(SpanTask(TOK, 24, n_best=2).predict(reader, [ask(context="rex likes milk")]))
    row = json.loads(json.dumps(said.as_row()))
    assert row["text"] == said.text and len(row["candidates"]) == 2
    assert set(row["candidates"][0]) == {"text", "start_char", "end_char", "score", "probability"}


def test_storyworld_model_still_answers():
    tok = Tokenizer.from_pretrained("storyworld-tiny-qa")
    model = BertForQuestionAnswering.from_pretrained("storyworld-tiny-qa")
    examples = list(questions(0, 40, "test"))
    task = SpanTask(tok, 96)  # most passages take several windows
    measures = task.measures(examples, list(task.predict(model, examples)))
    assert measures["f1"] > 0.9 and measures["no_answer"] > 0.9
    filler = "Rain fell on the town all day. " * 40  # the answer is many windows away
    told = next(e for e in examples if not e.is_impossible)
    far = replace(told, context=filler + told.context)
    said = next(task.predict(with_threshold(model, ALWAYS_ANSWER), [far]))
    assert said.text == told.answer and said.start_char >= len(filler)


def said_with(text, difference, best="x"):
    span = Span(1, 1, 0, 1, best, 0.0, 0.5)
    return AnswerPrediction(text, 0, len(text), 0.0, 0.5, difference, 0.5, (span,))


@pytest.mark.parametrize(
    ("gold", "said", "exact", "f1"),
    [
        ("the red hat", "red hat", 1, 1),
        ("The Red Hat!", "a red hat", 1, 1),
        ("red hat", "hat", 0, 2 / 3),  # precision 1, recall 1/2
        ("hat", "the old red hat", 0, 2 * (1 / 3) / (1 / 3 + 1)),
        ("red hat", "blue coat", 0, 0),
        ("hat hat coat", "hat hat", 0, 4 / 5),  # shared words count as often as they stand in both
        ("an old hat", "old hat", 1, 1),
        ("two o'clock", "two oclock", 1, 1),
        ("forty-two", "fortytwo", 1, 1),
        ("another hat", "other hat", 0, 0.5),  # "an" goes as a word only
        ("red  hat", "red\nhat", 1, 1),
        ("", "", 1, 1),
        ("", "red hat", 0, 0),
        ("red hat", "", 0, 0),
        ("the", "", 1, 1),  # nothing is left of an article
        ("Ä", "ä", 1, 1),
    ],
)
def test_answer_score(gold, said, exact, f1):
    assert answer_score(right_answers(ask(gold, gold)), said) == (exact, pytest.approx(f1))


def test_the_nearest_of_several_right_answers_counts():
    example = ask("a red hat", "a red hat", others=("hat", "the coat"))
    assert answer_score(right_answers(example), "coat") == (1, 1)
    assert answer_score(right_answers(example), "old hat") == (0, pytest.approx(2 / 3))


def test_measures():
    pairs = [("hat", "hat"), ("hat", ""), ("", ""), ("", "hat"), ("", "the")]
    examples = [ask(gold, gold) for gold, _ in pairs]
    task = SpanTask(TOK, 24)
    said = [said_with(text, float(number), "hat") for number, (_, text) in enumerate(pairs)]
    found = {name: v for name, v in task.measures(examples, said).items() if not name.endswith(("_low", "_high"))}
    assert found == {
        "exact": pytest.approx(3 / 5),
        "f1": pytest.approx(3 / 5),
        "no_answer": pytest.approx(1 / 3),
        "best_f1": 1.0,  # the first two answered, the others not
        "has_answer_f1": pytest.approx(1 / 2),
    }
    assert not {"no_answer", "best_f1"} & set(task.measures(examples[:2], said[:2]))
    assert task.confusions(examples, said)[:3] == [("answer", "answer"), ("answer", "no answer"), ("no answer",) * 2]
    assert task.confusions(examples[:2], said[:2]) is None
    compared = task.compare(examples, said)
    assert [one.error for one in compared] == [0, 0.5, 0, 0.5, 0]
    assert (compared[3].gold, compared[3].predicted) == ("no answer", "hat")
    (other,) = task.compare([replace(ask("hat", "a hat"), others=("cap",))], [said_with("The cap", 0.0, "cap")])
    assert other.gold == other.predicted == "The cap" and other.probability is not None  # right by exact match


@tries(30)
@given(st.lists(st.tuples(st.booleans(), st.integers(-4, 4), st.sampled_from(["hat", "old hat", "cat"])), min_size=1))
def test_threshold_equals_trying_all(drawn):
    examples = [ask("hat" if answered else "", "hat") for answered, _, _ in drawn]
    said = [said_with("", float(difference), best) for _, difference, best in drawn]
    assume(not all(answered for answered, _, _ in drawn))
    threshold = tune_threshold(examples, said)
    task = SpanTask(TOK, 24)

    def f1(threshold):
        texts = ["" if one.no_answer_score > threshold else one.candidates[0].text for one in said]
        decided = [replace(one, text=text) for one, text in zip(said, texts, strict=True)]
        return task.measures(examples, decided)["f1"]

    most = max(f1(step / 2) for step in range(-11, 12))
    assert f1(threshold) == pytest.approx(most)
    assert task.measures(examples, said)["best_f1"] == pytest.approx(most)


def test_who_never_saw_a_question_without_answer_always_answers(reader):
    task = SpanTask(TOK, 24)
    assert task.head_fields([ask("rex", "rex")]) == {"no_answer_threshold": ALWAYS_ANSWER}
    assert task.head_fields([ask("rex", "rex"), ask("")]) == {"no_answer_threshold": 0.0}
    assert json.loads(json.dumps(ALWAYS_ANSWER)) == ALWAYS_ANSWER
    examples = [ask(context=" ".join(WORDS))]
    assert next(task.predict(with_threshold(reader, ALWAYS_ANSWER), examples)).text
    assert not next(task.predict(with_threshold(reader, -ALWAYS_ANSWER), examples)).text


def test_no_answer_without_a_threshold_is_reported_where_each_question_has_one(reader):
    """As of a published model of SQuAD 1.1."""
    config, none = reader.config, SimpleNamespace(text="")
    examples = [ask("rex", "rex"), ask("rex", "rex")]
    note = needless_no_answer(config, examples, [none, SimpleNamespace(text="rex")])
    assert note.startswith("no answer to 1 of 2 questions") and '"no_answer_threshold": 1e9' in note
    assert not needless_no_answer(config, [*examples[1:], ask("")], [none, none])
    assert not needless_no_answer(config.changed(no_answer_threshold=3.5), examples, [none, none])


@pytest.mark.parametrize("name", ["max_answer_tokens", "n_best"])
def test_at_least_one(name):
    with pytest.raises(InputError, match=name):
        SpanTask(TOK, 24, **{name: 0})


def test_an_accent_behind_the_last_letter_belongs_to_the_answer():
    passage = unicodedata.normalize("NFD", "rex sees été here")
    tok = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "rex", "sees", "ete", "here"])
    feature = span_features([QAExample("1", "who", passage, "", -1)], tok, 24, 8)[0]
    place = tok.convert_ids_to_tokens(feature.rows[0].ids).index("ete")
    found = _span(0.0, place, place, feature, passage, 0.0)
    assert unicodedata.normalize("NFC", found.text) == "été"
    assert passage[found.start_char : found.end_char] == found.text
