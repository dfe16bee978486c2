"""Notebook cells of the attention heads; a test runs every one."""

from app.shared.opening import opened


def attention(
    model: str, text: str, pair: str | None, limit: int, view: dict, beside: tuple[str, bool] | None = None
) -> str:
    """`beside`: where a second model comes from, and whether its weights are random."""
    second = _second(*beside) if beside else ""
    return f"""{opened("BertModel", model)}
from bertlab.draw.html.canvas import ModelHeads, attention_widget
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.ablation import random_control

{asked(text, pair, limit)}
maps = attention_maps(model, tok, *asked)
control = attention_maps(random_control(model), tok, *asked){second}
attention_widget(maps, {model!r}, control, view={view!r}{", beside=beside" if second else ""})"""


def _second(model: str, random: bool) -> str:
    """Lines that make `beside`, the heads of a second model."""
    made = f"BertModel.from_pretrained({model!r})"
    return f"""
other, other_tok = {f"random_control({made})" if random else made}, Tokenizer.from_pretrained({model!r})
beside = ModelHeads({"random weights" if random else model!r}, attention_maps(other, other_tok, *asked))"""


def asked(text: str, pair: str | None, limit: int) -> str:
    return f"asked = {text!r}, {pair!r}, {limit}  # the text, a second one, and how many tokens are read at most"


def roles(model: str, text: str, pair: str | None, limit: int) -> str:
    return f"""{opened("BertModel", model)}
from bertlab.draw.charts.roles import role_maps, role_table
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.heads import head_roles

{asked(text, pair, limit)}
learned = head_roles(attention_maps(model, tok, *asked))
control = head_roles(attention_maps(random_control(model), tok, *asked))
role_maps(role_table(learned, control))"""
