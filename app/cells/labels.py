"""Notebook cells of the labels; a test runs every one."""


def text_label(model: str, text: str, pair: str | None) -> str:
    return f"""from bertlab import BertForSequenceClassification, Tokenizer
from bertlab.draw.charts import attribution_bars
from bertlab.explain.attribution import attribute_text
from bertlab.explain.control import random_control
from bertlab.explain.labels import label_text

model = BertForSequenceClassification.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
text, pair = {text!r}, {pair!r}
said = label_text(model, tok, text, pair)
print(said.prediction)
pushed = attribute_text(model, tok, text, pair)
control = attribute_text(random_control(model), tok, text, pair, label=said.label)
print(f"{{pushed.values.sum():.2f}} = {{pushed.score:.2f}} - {{pushed.baseline:.2f}}, gap {{pushed.gap:.4f}}")
attribution_bars(pushed, control)"""


def word_label(model: str, text: str, word: int) -> str:
    return f"""from bertlab import BertForTokenClassification, Tokenizer
from bertlab.draw.charts import attribution_bars
from bertlab.explain.attribution import attribute_word
from bertlab.explain.control import random_control
from bertlab.explain.labels import label_words

model = BertForTokenClassification.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
text, word = {text!r}, {word}
said = label_words(model, tok, text)
print(said.names)
label = model.config.label2id[said.prediction.labels[word]]
pushed = attribute_word(model, tok, text, word, label)
control = attribute_word(random_control(model), tok, text, word, label)
print(f"{{pushed.values.sum():.2f}} = {{pushed.score:.2f}} - {{pushed.baseline:.2f}}, gap {{pushed.gap:.4f}}")
attribution_bars(pushed, control)"""
