"""Notebook cells of the attention heads; a test runs every one."""


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
