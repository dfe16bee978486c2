"""Notebook cells of the page of masked words; a test runs every one."""


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
