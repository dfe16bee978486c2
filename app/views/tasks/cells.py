"""Notebook cells of the labels; a test runs every one."""

from collections.abc import Sequence

from app.shared.page.exports import model_lines

CHECK = 'print(f"{found.values.sum():.2f} = {found.score:.2f} - {found.baseline:.2f}, difference {found.delta:.4f}")'


def text_label(model: str, text: str, pair: str | None, limit: int) -> str:
    return f"""from bertlab.draw.charts.attribution import attribution_bars
from bertlab.explain.attribution import attribute_text
from bertlab.explain.ablation import random_control
from bertlab.explain.labels import label_text
{model_lines("BertForSequenceClassification", model)}

text, pair, limit = {text!r}, {pair!r}, {limit}
labelled = label_text(model, tok, text, pair, limit)
print(labelled.prediction)
found = attribute_text(model, tok, text, pair, labelled.label, limit)
control = attribute_text(random_control(model), tok, text, pair, labelled.label, limit)
{CHECK}
attribution_bars(found, control)"""


def word_label(model: str, text: str, word: int, limit: int) -> str:
    return f"""from bertlab.draw.charts.attribution import attribution_bars
from bertlab.explain.attribution import attribute_word
from bertlab.explain.ablation import random_control
from bertlab.explain.labels import label_words
{model_lines("BertForTokenClassification", model)}

text, word, limit = {text!r}, {word}, {limit}
labelled = label_words(model, tok, text, limit)
print(labelled.names)
label = model.config.label2id[labelled.prediction.labels[word]]
found = attribute_word(model, tok, text, word, label, limit)
control = attribute_word(random_control(model), tok, text, word, label, limit)
{CHECK}
attribution_bars(found, control)"""


def next_sentence(sources: Sequence[tuple[str, str]], text: str, pair: str, limit: int) -> str:
    """`sources`: what from_pretrained() takes for each model, and its name; those of "random weights" are drawn."""
    return f"""from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.masking import verdict_bars
from bertlab.explain.ablation import random_control
from bertlab.explain.words.next_sentence import both_orders

text, pair = {text!r}, {pair!r}
verdicts = {{}}
for source, name in {list(sources)!r}:
    model, tok = BertForPreTraining.from_pretrained(source), Tokenizer.from_pretrained(source)
    model = random_control(model) if name == "random weights" else model
    verdicts[name] = both_orders(model, tok, text, pair, limit={limit})
verdict_bars(verdicts)"""
