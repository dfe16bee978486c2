"""Notebook cells of the page of masked words; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.page.exports import model_lines

if TYPE_CHECKING:
    from app.views.masking.mask import Query


def fill(query: "Query", k: int, truths: Sequence[str]) -> str:
    """`truths`: the tokens of the text at the masked positions that are drawn."""
    return f"""from bertlab.draw.charts.masking import fill_panels
from bertlab.explain.words.fill import fill_mask
{model_of(query)}

fills = fill_mask(model, tok, {arguments(query)}, k={k})
truths = {list(truths)!r}
fill_panels(fills[: len(truths)], truths)"""


def why(query: "Query", number: int) -> str:
    return f"""from bertlab.draw.charts.attribution import attribution_bars
from bertlab.explain.attribution import attribute_fill
from bertlab.explain.ablation import random_control
from bertlab.explain.words.fill import fill_positions, masked_row
{model_of(query)}

batch, positions = masked_row(model, tok, {arguments(query)})
position = positions[{number}]
guess = fill_positions(model, tok, batch, [position], k=1)[0].tokens[0]
token_id = tok.convert_tokens_to_ids(guess)
found = attribute_fill(model, tok, batch, position, token_id)
control = attribute_fill(random_control(model), tok, batch, position, token_id)
print(f"{{guess}}: sum {{found.values.sum():.2f}}, log-odds rose by {{found.score - found.baseline:.2f}}")
attribution_bars(found, control)"""


def lens(query: "Query", position: int, k: int) -> str:
    return f"""from bertlab.draw.charts.masking import lens_grid
from bertlab.explain.words.lens import logit_lens
{model_of(query)}

lens = logit_lens(model, tok, {arguments(query)}, position={position}, k={k})
print(f"{{lens.answer}}: ranks {{lens.ranks}}, first leads after layer {{lens.first_lead}}")
lens_grid(lens)"""


def sweep(query: "Query", k: int) -> str:
    return f"""from bertlab.draw.charts.masking import surprisal_bars
from bertlab.explain.words.surprisal import pseudo_log_likelihood, pseudo_perplexity, sweep
{model_of(query)}

rows = list(sweep(model, tok, {arguments(query)}, k={k}))
print(f"{{pseudo_log_likelihood(rows):.1f}} nats, pseudo-perplexity {{pseudo_perplexity(rows):.1f}}")
surprisal_bars(rows, tok.vocab_size)"""


def draw(query: "Query", rate: float, seed: int) -> str:
    return f"""from bertlab.draw.html.marked import token_strip
from bertlab.explain.words.masking import sample_masking
from IPython.display import HTML
{model_of(query)}

drawn = sample_masking(model, tok, {arguments(query)}, rate={rate}, seed={seed})
print([(guess.truth, guess.guess, round(guess.loss, 2)) for guess in drawn.guesses])
HTML(token_strip(drawn.after, drawn.actions, drawn.before, drawn.special))"""


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


def model_of(query: "Query") -> str:
    return model_lines("BertForPreTraining", query.loaded.source, query.loaded.random)


def arguments(query: "Query") -> str:
    """Return the arguments of the query, without those that are not needed."""
    options = dict(pair=query.pair, masked=list(query.masked), limit=query.loaded.limit)
    return ", ".join([repr(query.text), *(f"{name}={value!r}" for name, value in options.items() if value)])
