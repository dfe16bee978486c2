"""The references of the exercises are right: they agree with the library, with torch, with what is published."""

import unicodedata
from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab import (
    BertConfig,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Tokenizer,
)
from bertlab.compare import statistics
from bertlab.corpora.examples import QAExample
from bertlab.course import load_matching
from bertlab.course.chapter_03.exercises.waves import sinusoids
from bertlab.course.chapter_05.exercises.bert import count_parameters
from bertlab.course.chapter_05.exercises.layers import gelu, layer_norm
from bertlab.course.chapter_06.exercises.head import my_loss
from bertlab.course.chapter_09.exercises.classifier import expected_best, smooth_loss
from bertlab.course.chapter_11.exercises.crf import marginals, sentences
from bertlab.course.chapter_11.exercises.labels import NAMES
from bertlab.course.chapter_15.exercises import comparing
from bertlab.course.chapter_16.exercises.changes import rotate, soft_loss
from bertlab.course.chapter_17.exercises.counting import round_to_bfloat16, step_operations
from bertlab.course.observe import random_tensor, small_batch
from bertlab.course.solutions import answers, every_token, family, one_sentence, pretraining, tokenizer, two_sentences
from bertlab.course.solutions.config import Config
from bertlab.course.solutions.tokenizer import clean
from bertlab.course.solutions.training import AdamW, rate_share
from bertlab.inputs.spans import most_context, span_features
from bertlab.model.attend import rotate as library_rotate
from bertlab.relatives.elmo import Elmo
from bertlab.relatives.gpt import Gpt
from bertlab.relatives.transformer import Transformer
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import entities
from bertlab.tokenizer import SPECIAL_TOKENS, cut_longest
from bertlab.training.distill import soft_loss as library_soft_loss
from bertlab.training.engine.optim import Optimization, rate_factor, rate_scales
from bertlab.training.engine.throughput import operations_by_part
from bertlab.training.initial_weights import start_from_sinusoids


def test_cleaning_is_that_of_the_engine():
    normalizer = Tokenizer.from_vocab(SPECIAL_TOKENS, lowercase=True).backend.normalizer
    letters = "".join(map(chr, [*range(0x590), *range(0x1E00, 0x2070), *range(0x3000, 0x3500), *range(0xAC00, 0xD7A4)]))
    for text in ("café ﬁ ß", "हिन्दी", "cafe\u0301", "ΟΔΟΣ", "a\u2028b\x85c\ufffdd\ue000e", *letters):
        if not any(unicodedata.category(c) == "Cn" for c in text):  # may be newer than the engine
            assert clean(text) == normalizer.normalize_str(text), text


def test_waves_are_those_that_training_starts_from():
    table = torch.empty(20, 16)
    start_from_sinusoids(table, size=0.5**0.5)
    assert torch.allclose(table, sinusoids(20, 16, 1000.0), atol=1e-5)


@pytest.mark.parametrize("size", ["mini", "base"])
def test_parameters_are_those_of_the_library(size):
    config = BertConfig.from_size(size)
    with torch.device("meta"):
        assert count_parameters(config) == sum(parameter.numel() for parameter in BertModel(config).parameters())


def test_functions_are_those_of_torch():
    x, weight, bias = random_tensor(2, 3, 6), random_tensor(6, seed=1), random_tensor(6, seed=2)
    assert torch.allclose(gelu(x), F.gelu(x), atol=1e-6)
    assert torch.allclose(layer_norm(x, weight, bias, 0.1), F.layer_norm(x, (6,), weight, bias, 0.1), atol=1e-5)
    labels = torch.tensor([[1, -100, 0], [-100, 5, 2]])
    words, pairs, following = random_tensor(2, 3, 6), random_tensor(2, 2), torch.tensor([1, 0])
    each = F.cross_entropy(words.flatten(0, 1), labels.flatten()), F.cross_entropy(pairs, following)
    assert torch.allclose(my_loss(words, labels), each[0])
    assert torch.allclose(pretraining.joint_loss(words, pairs, labels, following), sum(each))


def test_the_rate_and_the_cut_are_the_librarys():
    assert [rate_share(p / 20, 0.25) for p in range(21)] == [rate_factor(p / 20, 0.25) for p in range(21)]
    for first, second, budget in ((12, 3, 10), (3, 12, 10), (9, 8, 10), (7, 7, 8), (20, 2, 6), (3, 4, 9)):
        cut = pretraining.cut_pair([0] * first, [0] * second, budget)
        assert tuple(map(len, cut)) == tuple(cut_longest((first, second), budget))


def test_adamw_is_that_of_torch():
    torch.manual_seed(0)
    mine = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
    theirs = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
    theirs.load_state_dict(mine.state_dict())
    groups = [
        {"params": [p for p in theirs.parameters() if (p.ndim > 1) == matrix], "weight_decay": 0.2 * matrix}
        for matrix in (True, False)
    ]
    optimizer, other = AdamW(mine, (0.9, 0.98), 1e-6, 0.2), torch.optim.AdamW(groups, 0.1, (0.9, 0.98), 1e-6)
    for step in range(3):
        for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
            a.grad = random_tensor(*a.shape, seed=step)
            b.grad = a.grad.clone()
        optimizer.step(0.1)
        other.step()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


# Part two

SIZES = dict(
    vocab_size=80, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=16,
    max_position_embeddings=64,
)  # fmt: skip
QUESTION, PASSAGE = "Who likes Zoé?", "My dog likes walks.  He doesn't like Zoé's caf\u00e9: “too loud”, he says. " * 3


@torch.no_grad()
def test_the_new_heads_give_the_librarys_logits():
    torch.manual_seed(0)
    rows = small_batch()
    library = BertForSequenceClassification(BertConfig(**SIZES, num_labels=3)).eval()
    mine = one_sentence.BertForSequenceClassification(Config(**SIZES), 3).eval()
    assert load_matching(mine, library).complete
    assert torch.allclose(mine(*rows), library(*rows).logits, atol=1e-5)
    spans = BertForQuestionAnswering(BertConfig(**SIZES)).eval()
    own = answers.BertForQuestionAnswering(Config(**SIZES)).eval()
    load_matching(own, spans)
    load_matching(own.qa_outputs, spans.span)
    for logits, right in zip(own(*rows), (spans(*rows).start_logits, spans(*rows).end_logits), strict=True):
        assert torch.allclose(logits, right, atol=1e-5)
    choices = BertForMultipleChoice(BertConfig(**SIZES)).eval()
    of_choices = two_sentences.BertForMultipleChoice(Config(**SIZES)).eval()
    assert load_matching(of_choices, choices).complete
    blocks = [row[None] for row in rows]  # (1, C, S)
    assert torch.allclose(of_choices(*blocks), choices(*blocks).logits, atol=1e-5)


@torch.no_grad()
def test_the_family_is_that_of_the_library():
    torch.manual_seed(0)
    ids, mask, _ = small_batch()
    real = mask.bool()
    pairs = [(cls(BertConfig(**SIZES)).eval(), mine(Config(**SIZES)).eval()) for cls, mine in FAMILY]
    for library, mine in pairs:
        assert load_matching(mine, library).complete
    (gpt, own_gpt), (elmo, own_elmo), (transformer, own_transformer) = pairs
    right = gpt.logits(gpt(ids, mask).last_hidden_state)
    assert torch.allclose(own_gpt(ids, mask)[real], right[real], atol=1e-4)
    states = torch.stack(elmo(ids, mask).hidden_states)
    assert torch.allclose(own_elmo(ids, mask)[:, real], states[:, real], atol=1e-4)
    memory = own_transformer.encode(ids, mask)
    assert torch.allclose(memory[real], transformer.encode(ids, mask)[real], atol=1e-4)
    logits, weights = own_transformer.decode(ids, memory, mask)
    theirs, attentions = transformer.decode(ids, memory, mask)
    assert torch.allclose(logits, theirs, atol=1e-4) and torch.allclose(weights, attentions[-1], atol=1e-5)


FAMILY = ((Gpt, family.Gpt), (Elmo, family.Elmo), (Transformer, family.Transformer))


def test_later_changes_are_those_of_the_library():
    x, positions = random_tensor(2, 3, 6, 8), torch.tensor([0, 1, 2, 3, 9, 4])
    assert torch.allclose(rotate(x, positions), library_rotate(x, positions), atol=1e-5)
    student, teacher = random_tensor(5, 7), random_tensor(5, 7, seed=1)
    assert torch.allclose(soft_loss(student, teacher, 3.0), library_soft_loss(student, teacher, 3.0), atol=1e-5)


def test_shares_and_losses_are_those_of_the_library_and_of_torch():
    model = one_sentence.BertForSequenceClassification(Config(**SIZES), 3)
    names = {weight: name for name, weight in model.named_parameters()}
    pairs = one_sentence.layer_shares(model, 0.5)
    mine = {names[weight]: share for part, share in pairs for weight in part.parameters()}
    assert mine == pytest.approx(rate_scales(list(names.values()), Optimization(layer_decay=0.5)))
    logits, labels = random_tensor(5, 4), torch.tensor([0, 3, 1, 1, 2])
    right = F.cross_entropy(logits, labels, label_smoothing=0.2)
    assert torch.allclose(smooth_loss(logits, labels, 0.2), right)
    assert expected_best([0.5, 0.7], 2) == pytest.approx(0.65)  # the pairs are 0.5, 0.7, 0.7, 0.7


@pytest.fixture(scope="module")
def tokenizers():
    """The reader's kind of tokenizer and the library's, with one small vocabulary."""
    library = Tokenizer.train([QUESTION, PASSAGE] * 2, vocab_size=70)
    tokens = library.convert_ids_to_tokens(range(library.vocab_size))
    return tokenizer.Tokenizer({token: number for number, token in enumerate(tokens)}), library


def test_windows_are_those_of_the_library(tokenizers):
    mine, library = tokenizers
    for text in ("my dog", "  My DOG, doesn't", PASSAGE, "\u4f60 caf\u0065\u0301 \u200b x", ""):
        assert answers.offsets(mine, text) == [tuple(pair) for pair in library.encodings([text])[0].offsets]
    for size, stride in ((30, 8), (44, 20), (200, 60)):
        rows = answers.question_rows(mine, QUESTION, PASSAGE, size, stride)
        right = span_features([QAExample("", QUESTION, PASSAGE, "", -1)], library, size, stride, learn=False)
        assert [row["ids"] for row in rows] == [list(feature.rows[0].ids) for feature in right]
        batch, given = answers.question_batch(rows, mine), library.batch([feature.rows[0] for feature in right])
        assert all(torch.equal(batch[name], given[name]) for name in batch)
        for row, feature in zip(rows, right, strict=True):
            assert row["starts"] == [position in feature.max_context for position in feature.passage]
    windows = answers.cut_windows(450, 400, 200)
    owners = [number for number, own in enumerate(most_context(windows)) for _ in own]
    assert answers.most_context(windows) == owners


def test_answers_are_those_of_the_library(tokenizers):
    mine, library = tokenizers
    torch.manual_seed(0)
    model = BertForQuestionAnswering(BertConfig(**SIZES)).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)

    def logits(**rows):
        out = model(**rows)
        return out.start_logits, out.end_logits

    for size, stride in ((30, 8), (64, 20)):
        example = QAExample("", QUESTION, PASSAGE, "", -1)
        found = next(SpanTask(library, size, stride, whole_words=False).predict(model, [example]))
        for step, right in ((1, found.candidates[0].text), (-1, "")):
            threshold = found.no_answer_score + step
            assert answers.answer_question(logits, mine, QUESTION, PASSAGE, threshold, size, stride) == right


def test_names_are_those_of_the_library():
    for labels in product(NAMES[:5], repeat=4):
        right = [(one.kind, one.first, one.last) for one in entities([""] * 4, labels)]
        assert every_token.entities(labels) == right


@pytest.mark.parametrize("lengths", [(5, 3, 1), (2, 4)])
def test_the_crf_agrees_with_all_paths_written_out(lengths):
    logits, mask, *scores = sentences(*lengths)
    start, steps, end = scores
    best, shares = every_token.viterbi(logits, mask, *scores), marginals(logits, mask, *scores)
    for number, length in enumerate(lengths):
        row = logits[number]
        paths = torch.tensor(list(product(range(3), repeat=length)))  # (P, W)
        each = start[paths[:, 0]] + end[paths[:, -1]] + row[torch.arange(length), paths].sum(1)
        each = each + steps[paths[:, :-1], paths[:, 1:]].sum(1)
        copies, real = row[None, :length].expand(len(paths), -1, -1), torch.ones(len(paths), length).bool()
        assert torch.allclose(every_token.path_score(copies, paths, real, *scores), each, atol=1e-4)
        assert torch.isclose(every_token.log_partition(logits, mask, *scores)[number], each.logsumexp(0), atol=1e-4)
        assert torch.equal(best[number, :length], paths[each.argmax()])
        chosen = F.one_hot(paths, 3) * each.softmax(0)[:, None, None]  # (P, W, N)
        assert torch.allclose(shares[number, :length], chosen.sum(0), atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("decoder", ["linear", "crf"])
def test_the_taggers_are_those_of_the_library(decoder):
    torch.manual_seed(0)
    rows = small_batch()
    labels = torch.tensor([[-100, 1, 2, -100, 0, 1, -100], [-100, 0] + [-100] * 5, [-100, 1, -100, 2] + [-100] * 3])
    names = NAMES[:3]
    library = BertForTokenClassification(BertConfig(**SIZES, id2label=dict(enumerate(names)), token_decoder=decoder))
    if decoder == "crf":
        mine = every_token.BertWithCRF(Config(**SIZES), names).eval()
    else:
        mine = every_token.BertForTokenClassification(Config(**SIZES), 3).eval()
    for parameter in library.eval().parameters():
        nn.init.normal_(parameter, std=0.5)
    assert load_matching(mine, library).copied == load_matching(mine, library).total
    out = library(*rows, labels=labels)
    batch = dict(zip(("input_ids", "attention_mask", "token_type_ids"), rows, strict=True)) | {"labels": labels}
    assert torch.allclose(mine.loss(batch), out.loss, atol=1e-4)
    logits, _, mask = mine.words(batch)
    found = [row[real].tolist() for row, real in zip(mine.decode(logits, mask), mask, strict=True)]
    assert found == [list(row) for row in library.decode(out.logits, labels != -100)]


def test_comparisons_are_those_of_the_library():
    rng = np.random.default_rng(0)
    better, worse = (np.stack([rng.integers(0, 4, (5, 60)), np.full((5, 60), 4)], -1).astype(float) for _ in range(2))
    figures = [comparing.measure_by_seed(scores) for scores in (better, worse)]
    assert np.allclose(figures[0], statistics.by_seed([better]))
    theirs = statistics.compare([better], [worse])
    draws = comparing.paired_bootstrap(better, worse, rng, 4000)
    assert np.allclose(np.percentile(draws, [2.5, 97.5]), (theirs.figure.low, theirs.figure.high), atol=0.01)
    assert comparing.paired_t(figures[0] - figures[1]) == pytest.approx(theirs.p)
    assert comparing.verdict(theirs.figure.low, theirs.figure.high, theirs.p) == theirs.verdict
    assert comparing.power(1.0, 5, rng) == pytest.approx(statistics.power(1.0, 5), abs=0.03)


def test_operations_and_bfloat16_are_those_of_the_library_and_of_torch():
    layers, hidden, words, lengths, labels = 2, 16, 50, [9, 4, 7], 3
    config = BertConfig(words, hidden, layers, 2, 4 * hidden)
    parts = operations_by_part(config, sum(lengths), sum(n * n for n in lengths), labels)
    assert step_operations(layers, hidden, words, lengths, labels) == pytest.approx(sum(parts.values()))
    x = torch.cat([random_tensor(500), 1e-30 * random_tensor(20), torch.tensor([0.0, 3.4e38, 1 + 2.0**-8])])
    assert torch.equal(round_to_bfloat16(x), x.bfloat16().float())
