"""Pictures of fine-tuning show what they are given."""

import pytest

from bertlab.draw.figures.tasks import finetuning as figures


def texts(fig):
    return {text.get_text() for ax in fig.axes for text in ax.texts}


def test_new_layer_names_its_parts_and_counts():
    fig = figures.new_layer(["[CLS]", "hello", "[SEP]"], 4, ["bad", "good"], old=1_000, new=6)
    assert {"[CLS]", "hello", "pooler", "bad", "good", "embeddings and 4 layers: pretrained"} <= texts(fig)
    assert {"1,000 weights, pretrained", "6 weights, random"} <= texts(fig)


def test_verdicts_have_a_cell_for_each_text_and_model():
    fig = figures.verdicts(["a $1 soup", "b"], {"one": [0.9, 0.2], "two": [0.5, 0.4]}, "good")
    assert {"a $1 soup", "one", "two", "0.90", "0.20", "0.50", "0.40"} <= texts(fig)
    blue, orange = (fig.axes[0].patches[number].get_width() for number in (1, 3))
    assert blue == pytest.approx(orange * 0.9 / 0.2)


def test_labels_needed_draws_means_and_every_run():
    fig = figures.labels_needed({"a": {10: [0.5, 0.7], 100: [0.9]}, "b": {10: [0.5]}}, chance=0.5)
    ax = fig.axes[0]
    assert ax.lines[0].get_ydata() == pytest.approx([0.6, 0.9])
    assert ax.lines[1].get_ydata() == pytest.approx([0.5, 0.7])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10", "100"]


def test_labels_needed_ends_at_the_top_it_is_given():
    fig = figures.labels_needed({"a": {10: [0.5], 100: [0.6]}}, chance=0.5, top=0.7)
    assert fig.axes[0].get_ylim() == pytest.approx((0.4, 0.7))


def test_by_layer_has_a_bar_for_each_row_in_each_panel():
    fig = figures.by_layer(["embeddings", "layer 1"], {"moved": [0.1, 0.3], "nothing": [0.0, 0.0]})
    assert [[bar.get_width() for bar in ax.patches] for ax in fig.axes] == [[0.1, 0.3], [0.0, 0.0]]
    assert [tick.get_text() for tick in fig.axes[0].get_yticklabels()] == ["embeddings", "layer 1"]
