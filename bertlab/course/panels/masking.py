"""Panel of the chapter on masked words: turn the rates of the draw and see ids, labels and guesses."""

from html import escape

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, line, panel
from bertlab.draw.marked import token_strip
from bertlab.draw.palette import BLUE
from bertlab.explain.masking import SampledMasking, sample_masking
from bertlab.inputs.masking import IGNORED


def masking_panel(model, tokenizer, text: str) -> Panel:
    """The real sampler on a text of one's own: what the model gets, what it must say, what it says."""

    def slider(name: str, value: float, least: float, most: float) -> widgets.FloatSlider:
        return widgets.FloatSlider(
            value, min=least, max=most, step=0.05, description=name, style=LABEL, layout=WIDE, readout_format=".0%"
        )

    def show(text: str, rate: float, mask: float, random: float, seed: int) -> str:
        sample = sample_masking(model, tokenizer, text, rate=rate, seed=seed, mask=mask, random=random)
        return masking_html(sample, tokenizer)

    return panel(
        show,
        text=line("text", text),
        rate=slider("chosen", 0.15, 0.05, 1.0),
        mask=slider("... [MASK]", 0.8, 0.0, 1.0),
        random=slider("... random", 0.1, 0.0, 1.0),
        seed=widgets.IntSlider(0, 0, 50, description="seed", style=LABEL, layout=WIDE),
    )


def masking_html(sample: SampledMasking, tokenizer) -> str:
    """The masked text as a strip; its ids and labels; one line for each chosen word: the guess, what the truth got."""
    strip = token_strip(sample.after, sample.actions, sample.before, sample.special)
    rows = "".join(
        f"<tr><td><bdi>{escape(g.truth)}</bdi></td><td><bdi>{escape(g.shown)}</bdi></td>"
        f"<td><bdi>{escape(g.guess)}</bdi></td><td>{g.probability:.1%}</td><td>{g.rank}</td></tr>"
        for g in sample.guesses
    )
    head = "<tr><th>hidden</th><th>shown</th><th>guess</th><th>p(hidden)</th><th>rank</th></tr>"
    loss = f"<p>loss {sample.loss:.3f} nats per chosen token</p>"
    return f"{strip}{_tensors(sample, tokenizer)}{loss}<table>{head}{rows}</table>"


def _tensors(sample: SampledMasking, tokenizer) -> str:
    """input_ids and labels, one below the other, as they go into the model."""
    ids, originals = (tokenizer.convert_tokens_to_ids(tokens) for tokens in (sample.after, sample.before))
    labels = [number if action else IGNORED for number, action in zip(originals, sample.actions, strict=True)]
    style = f"color:{BLUE};font-weight:bold"
    cells = [f'<td style="{style if label != IGNORED else "opacity:.5"}">{label}</td>' for label in labels]
    first = "".join(f"<td>{number}</td>" for number in ids)
    rows = f"<tr><th>input_ids</th>{first}</tr><tr><th>labels</th>{''.join(cells)}</tr>"
    return f'<div style="overflow-x:auto"><table>{rows}</table></div>'
