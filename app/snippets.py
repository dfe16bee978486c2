"""The notebook cells that "show me the cell" shows. A test runs every one of them."""


def fill(model: str, text: str, pair: str | None, k: int) -> str:
    return f"""from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts import fill_bars
from bertlab.explain.fill import fill_mask

model = BertForPreTraining.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
fills = fill_mask(model, tok, {text!r}, {pair!r}, k={k})
fill_bars(fills[0])"""


def sampler(model: str, text: str, pair: str | None, rate: float, seed: int) -> str:
    return f"""import torch
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.marked import token_strip
from bertlab.explain.masking import sample_masking
from IPython.display import HTML

model = BertForPreTraining.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
sampled = sample_masking(model, tok, {text!r}, {pair!r}, rate={rate}, seed={seed})
HTML(token_strip(sampled.after, sampled.actions, sampled.before, sampled.special))"""


def attention(model: str, text: str, pair: str | None, view: dict) -> str:
    return f"""from bertlab import BertModel, Tokenizer
from bertlab.draw.canvas import attention_widget
from bertlab.explain.attention import attention_maps
from bertlab.explain.control import random_control

model = BertModel.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
text, pair = {text!r}, {pair!r}
maps = attention_maps(model, tok, text, pair)
control = attention_maps(random_control(model), tok, text, pair)
attention_widget(maps, {model!r}, control, view={view!r})"""


def projection(model: str, source: str, layer: int) -> str:
    return f"""from bertlab import BertModel, Tokenizer
from bertlab.draw.charts import projection_scatter, projection_table
from bertlab.explain.projection import cls_vectors, neighbour_accuracy, project

model = BertModel.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
{source}
vectors = cls_vectors(model, tok, texts)  # (L+1, N, H)
flat = project(vectors[{layer}])
print(neighbour_accuracy(vectors[{layer}], labels))
projection_scatter(projection_table(flat.points, labels, texts), flat.explained)"""


def storyworld_source(count: int) -> str:
    return f"""from bertlab.corpora.storyworld import labelled_sentences

sentences = list(labelled_sentences(seed=0, count={count}, split="test"))
texts, labels = [s.text for s in sentences], [s.label for s in sentences]"""


def own_source(texts: list[str], labels: list[str]) -> str:
    return f"texts = {texts!r}\nlabels = {labels!r}"


def answer(model: str, question: str, passage: str) -> str:
    return f"""from bertlab import BertForQuestionAnswering, Tokenizer
from bertlab.draw.charts import span_heatmap
from bertlab.explain.spans import answer

model = BertForQuestionAnswering.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
found = answer(model, tok, {question!r}, {passage!r})
print(found.best.text or "no answer", f"{{found.best.probability:.2f}}")
span_heatmap(found, range(*found.passage_slice))"""


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
