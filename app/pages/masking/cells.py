"""Notebook cells of the page of masked words; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.opening import opened

if TYPE_CHECKING:
    from app.pages.masking.gaps import Asked


def fill(ask: "Asked", k: int, truths: Sequence[str]) -> str:
    """`truths`: the tokens that stand in the text at the gaps that are drawn."""
    return f"""from bertlab.draw.charts.base import fill_panels
from bertlab.explain.words.fill import fill_mask
{model_of(ask)}

fills = fill_mask(model, tok, {asked(ask)}, k={k})
truths = {list(truths)!r}
fill_panels(fills[: len(truths)], truths)"""


def why(ask: "Asked", number: int) -> str:
    return f"""from bertlab.draw.charts.base import attribution_bars
from bertlab.explain.attribution import attribute_fill
from bertlab.explain.ablation import random_control
from bertlab.explain.words.fill import fill_positions, masked_row
{model_of(ask)}

batch, gaps = masked_row(model, tok, {asked(ask)})
gap = gaps[{number}]
guess = fill_positions(model, tok, batch, [gap], k=1)[0].tokens[0]
token_id = tok.convert_tokens_to_ids(guess)
pushed = attribute_fill(model, tok, batch, gap, token_id)
control = attribute_fill(random_control(model), tok, batch, gap, token_id)
print(f"{{guess}}: pushes of {{pushed.values.sum():.2f}}, log-odds rose by {{pushed.score - pushed.baseline:.2f}}")
attribution_bars(pushed, control)"""


def lens(ask: "Asked", position: int, k: int) -> str:
    return f"""from bertlab.draw.charts.masking import lens_grid
from bertlab.explain.words.lens import logit_lens
{model_of(ask)}

lens = logit_lens(model, tok, {asked(ask)}, position={position}, k={k})
print(f"{{lens.answer}}: ranks {{lens.ranks}}, first leads after layer {{lens.first_lead}}")
lens_grid(lens)"""


def sweep(ask: "Asked", k: int) -> str:
    return f"""from bertlab.draw.charts.masking import surprisal_bars
from bertlab.explain.words.surprisal import pseudo_log_likelihood, pseudo_perplexity, sweep
{model_of(ask)}

rows = list(sweep(model, tok, {asked(ask)}, k={k}))
print(f"{{pseudo_log_likelihood(rows):.1f}} nats, pseudo-perplexity {{pseudo_perplexity(rows):.1f}}")
surprisal_bars(rows, tok.vocab_size)"""


def draw(ask: "Asked", rate: float, seed: int) -> str:
    return f"""from bertlab.draw.html.marked import token_strip
from bertlab.explain.words.masking import sample_masking
from IPython.display import HTML
{model_of(ask)}

drawn = sample_masking(model, tok, {asked(ask)}, rate={rate}, seed={seed})
print([(guess.truth, guess.guess, round(guess.loss, 2)) for guess in drawn.guesses])
HTML(token_strip(drawn.after, drawn.actions, drawn.before, drawn.special))"""


def next_sentence(sources: Sequence[tuple[str, bool]], text: str, pair: str, limit: int) -> str:
    """`sources`: for each model what from_pretrained() takes, and whether its weights are drawn anew."""
    return f"""from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.masking import verdict_bars
from bertlab.explain.ablation import random_control
from bertlab.explain.words.next_sentence import both_orders

text, pair = {text!r}, {pair!r}
verdicts = {{}}
for source, drawn_anew in {list(sources)!r}:
    model, tok = BertForPreTraining.from_pretrained(source), Tokenizer.from_pretrained(source)
    model, name = (random_control(model), "random weights") if drawn_anew else (model, source)
    verdicts[name] = both_orders(model, tok, text, pair, limit={limit})
verdict_bars(verdicts)"""


def model_of(ask: "Asked") -> str:
    return opened("BertForPreTraining", ask.loaded.source, ask.loaded.random)


def asked(ask: "Asked") -> str:
    """The arguments that say what is asked, without those that are not needed."""
    options = dict(pair=ask.pair, masked=list(ask.masked), limit=ask.loaded.limit)
    return ", ".join([repr(ask.text), *(f"{name}={value!r}" for name, value in options.items() if value)])
