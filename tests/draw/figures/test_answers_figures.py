"""Pictures of answer spans show what they are given."""

from dataclasses import replace

import pytest
import torch

from bertlab import BertConfig, BertForQuestionAnswering, Tokenizer
from bertlab.draw.figures.tasks import answers
from bertlab.explain.spans import answer
from bertlab.inputs.spans import cut_windows

TEXTS = ["my dog is hairy. he likes walks.", "who likes walks?"]


@pytest.fixture(scope="module")
def found():
    tok = Tokenizer.train(TEXTS * 2, vocab_size=80)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tok.vocab_size,
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=40,
        no_answer_threshold=1e9,
    )
    return answer(BertForQuestionAnswering(config).eval(), tok, TEXTS[1], TEXTS[0])


def test_span_row_marks_start_and_end():
    fig = answers.span_row(["[CLS]", "who", "[SEP]", "a", "red", "kite", "[SEP]"], 3, 4, 5)
    words = [text.get_text() for text in fig.axes[0].texts]
    assert {"start", "end", "no answer", "kite"} <= set(words)


def test_span_row_of_one_token():
    words = [text.get_text() for text in answers.span_row(["[CLS]", "a", "[SEP]", "b", "[SEP]"], 3, 3, 3).axes[0].texts]
    assert "start = end" in words


def test_square_has_the_tokens_of_the_passage_and_frames_the_best(found):
    fig = answers.span_square(found)
    first, stop = found.passage_slice
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == found.tokens[first:stop]
    assert len(fig.axes[0].patches) == bool(found.best.text)
    assert len(fig.axes[0].images) == 2


def test_square_has_one_scale_and_the_numbers_of_what_is_probable(found):
    grid = torch.zeros_like(found.grid)
    start = found.passage_slice[0]
    grid[start, start], grid[start, start + 1] = 0.74, 0.01
    ax = answers.span_square(replace(found, grid=grid)).axes[0]
    assert ax.images[1].get_clim() == (0, 1)
    assert [text.get_text() for text in ax.texts if text.get_text()[0].isdigit()] == ["0.74"]


def test_each_token_is_green_once():
    windows = cut_windows(30, 12, 6)
    best = [0] * 9 + [1] * 6 + [2] * 6 + [3] * 9
    ax = answers.windows_of(windows, best).axes[0]
    green = [bar.get_width() for bar in ax.patches[1::2]]
    assert sum(green) == 30 and len(ax.patches) == 2 * len(windows)


def test_grouped_bars_have_a_bar_for_each_name_and_group():
    fig = answers.grouped_bars({"early": {"cut": 0.9, "windows": 0.8}, "late": {"cut": 0.0, "windows": 0.7}}, "share")
    ax = fig.axes[0]
    assert len(ax.patches) == 4
    assert {text.get_text() for text in ax.texts} == {"0.90", "0.80", "0.00", "0.70"}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["early", "late"]
