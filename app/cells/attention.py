"""Notebook cells of the attention heads; a test runs every one."""

from cells.opening import opened


def attention(model: str, text: str, pair: str | None, view: dict, beside: tuple[str, bool] | None = None) -> str:
    """`beside`: where a second model comes from, and whether its weights are random."""
    second = _second(*beside) if beside else ""
    return f"""{opened("BertModel", model)}
from bertlab.draw.canvas import ModelHeads, attention_widget
from bertlab.explain.attention import attention_maps
from bertlab.explain.control import random_control

text, pair = {text!r}, {pair!r}
maps = attention_maps(model, tok, text, pair)
control = attention_maps(random_control(model), tok, text, pair){second}
attention_widget(maps, {model!r}, control, view={view!r}{", beside=beside" if second else ""})"""


def _second(model: str, random: bool) -> str:
    """Lines that make `beside`, the heads of a second model."""
    made = f"BertModel.from_pretrained({model!r})"
    return f"""
other, other_tok = {f"random_control({made})" if random else made}, Tokenizer.from_pretrained({model!r})
beside = ModelHeads({"random weights" if random else model!r}, attention_maps(other, other_tok, text, pair))"""


def roles(model: str, text: str, pair: str | None) -> str:
    return f"""{opened("BertModel", model)}
from bertlab.draw.role_charts import role_maps, role_table
from bertlab.explain.attention import attention_maps
from bertlab.explain.control import random_control
from bertlab.explain.heads import head_roles

text, pair = {text!r}, {pair!r}
learned = head_roles(attention_maps(model, tok, text, pair))
control = head_roles(attention_maps(random_control(model), tok, text, pair))
role_maps(role_table(learned, control))"""
