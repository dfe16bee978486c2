"""Notebook cells of the labels; a test runs every one."""

from app.shared.opening import opened

CHECK = 'print(f"{pushed.values.sum():.2f} = {pushed.score:.2f} - {pushed.baseline:.2f}, gap {pushed.gap:.4f}")'


def text_label(model: str, text: str, pair: str | None, limit: int) -> str:
    return f"""from bertlab.draw.charts.base import attribution_bars
from bertlab.explain.attribution import attribute_text
from bertlab.explain.ablation import random_control
from bertlab.explain.labels import label_text
{opened("BertForSequenceClassification", model)}

text, pair, limit = {text!r}, {pair!r}, {limit}
said = label_text(model, tok, text, pair, limit)
print(said.prediction)
pushed = attribute_text(model, tok, text, pair, said.label, limit)
control = attribute_text(random_control(model), tok, text, pair, said.label, limit)
{CHECK}
attribution_bars(pushed, control)"""


def word_label(model: str, text: str, word: int, limit: int) -> str:
    return f"""from bertlab.draw.charts.base import attribution_bars
from bertlab.explain.attribution import attribute_word
from bertlab.explain.ablation import random_control
from bertlab.explain.labels import label_words
{opened("BertForTokenClassification", model)}

text, word, limit = {text!r}, {word}, {limit}
said = label_words(model, tok, text, limit)
print(said.names)
label = model.config.label2id[said.prediction.labels[word]]
pushed = attribute_word(model, tok, text, word, label, limit)
control = attribute_word(random_control(model), tok, text, word, label, limit)
{CHECK}
attribution_bars(pushed, control)"""
