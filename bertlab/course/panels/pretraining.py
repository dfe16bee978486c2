"""Panels of the chapters on masking, sentence pairs and pretraining."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import ipywidgets as widgets

from bertlab.config import IGNORED
from bertlab.course import own_bert
from bertlab.course.panels.base import LABEL, WIDE, Panel, image_html, line, panel, slider
from bertlab.course.panels.models import fills_html
from bertlab.draw.figures.training import learning_curves
from bertlab.draw.html.marked import token_strip
from bertlab.draw.palette import BLUE, GREEN, PINK
from bertlab.evaluation.baselines import Baseline
from bertlab.explain.text import Encoded, encode, longest
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.masking import SampledMasking, sample_masking
from bertlab.explain.words.next_sentence import NextSentence, both_orders
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer

SECONDS, BEGINNING = 5, 60  # between two looks at a training; until one that was started must run


def masking_panel(model: BertForPreTraining, tokenizer: Tokenizer, text: str) -> Panel:
    """The real sampler on a text of one's own: what the model gets, what it must say, what it says."""

    def show(text: str, rate: float, mask: float, random: float, seed: int) -> str:
        sample = sample_masking(model, tokenizer, text, rate=rate, seed=seed, mask=mask, random=random)
        return masking_html(sample, tokenizer)

    shares: dict = {"step": 0.05, "readout_format": ".0%"}
    return panel(
        show,
        text=line("text", text),
        rate=slider("chosen", 0.15, 0.05, 1.0, **shares),
        mask=slider("... [MASK]", 0.8, 0.0, 1.0, **shares),
        random=slider("... random", 0.1, 0.0, 1.0, **shares),
        seed=slider("seed", 0, 0, 50),
    )


def masking_html(sample: SampledMasking, tokenizer: Tokenizer) -> str:
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


def _tensors(sample: SampledMasking, tokenizer: Tokenizer) -> str:
    """input_ids and labels, one below the other, as they go into the model."""
    ids, originals = (tokenizer.convert_tokens_to_ids(tokens) for tokens in (sample.after, sample.before))
    labels = [number if action else IGNORED for number, action in zip(originals, sample.actions, strict=True)]
    style = f"background:{BLUE}26;font-weight:bold"
    cells = [f'<td style="{style if label != IGNORED else "opacity:.5"}">{label}</td>' for label in labels]
    first = "".join(f"<td>{number}</td>" for number in ids)
    rows = f"<tr><th>input_ids</th>{first}</tr><tr><th>labels</th>{''.join(cells)}</tr>"
    return f'<div style="overflow-x:auto"><table>{rows}</table></div>'


def pair_panel(model: BertForPreTraining, tokenizer: Tokenizer, first: str, second: str) -> Panel:
    """Two texts, the input that is made of them, and the prediction, also for the pair swapped."""

    def show(first: str, second: str) -> str:
        verdicts = both_orders(model, tokenizer, first, second)  # tells what is missing, so it comes first
        encoded = encode(tokenizer, first, second, longest(model))
        return segments_html(encoded) + verdict_html(*verdicts)

    return panel(show, first=line("first", first), second=line("second", second))


def segments_html(encoded: Encoded) -> str:
    """Each token above its token_type_id: 0 green, 1 pink."""
    boxes = "".join(
        f'<div style="background:{PINK if kind else GREEN}33;padding:2px 6px;border-radius:5px;text-align:center">'
        f"<bdi>{escape(token)}</bdi><br><small>{kind}</small></div>"
        for token, kind in zip(encoded.tokens, encoded.token_type_ids.tolist(), strict=True)
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:5px">{boxes}</div>'


def verdict_html(given: NextSentence, swapped: NextSentence) -> str:
    """A bar for the pair as it stands and one for the pair swapped."""
    rows = "".join(
        f"<tr><td>{name}</td><td>{found.probability:.1%}</td><td><div style='background:{BLUE};height:12px;"
        f"border-radius:2px;width:{240 * found.probability:.0f}px'></div></td></tr>"
        for name, found in {"the second follows": given, "swapped": swapped}.items()
    )
    return f"<table>{rows}</table>"


def snapshots_panel(folders: Mapping[int, Path], tokenizer: Tokenizer, text: str) -> Panel:
    """A line of text with [MASK] in it, and a slider over the snapshots: `folders` by their number of steps."""
    models = {step: BertForPreTraining.from_pretrained(folder) for step, folder in folders.items()}
    steps = widgets.SelectionSlider(
        options=[(f"{step:,}", step) for step in models],
        value=max(models),
        description="step",
        style=LABEL,
        layout=WIDE,
    )

    def show(text: str, step: int) -> str:
        return fills_html(fill_mask(models[step], tokenizer, text, k=6))

    return panel(show, text=line("text", text), step=steps)


def training_panel(baselines: Sequence[Baseline]) -> Panel:
    """The training of the reader's own BERT: a press starts it, the next one stops it; its curves are drawn meanwhile.

    `baselines` are dashed lines, as in `learning_curves`.
    """
    button, state = widgets.Button(layout=widgets.Layout(width="220px")), widgets.HTML()

    def draw() -> None:
        rows = own_bert.rows()
        button.description = "Stop" if own_bert.is_running() else "Go on" if rows else "Train my BERT"
        button.disabled = own_bert.is_done()
        curves = image_html(learning_curves(rows, baselines, own_bert.STEPS)) if rows else ""
        state.value = f"<p>{escape(own_bert.message())}</p>{curves}"

    async def watch(least: float) -> None:
        """Draw anew until the training ends, and for so many seconds in which it may not have begun."""
        until = time.monotonic() + least
        while own_bert.is_running() or time.monotonic() < until:
            draw()
            await asyncio.sleep(SECONDS)
        draw()

    def press(_) -> None:
        (own_bert.stop if own_bert.is_running() else own_bert.start)()
        asyncio.ensure_future(watch(BEGINNING))

    button.on_click(press)
    draw()
    if own_bert.is_running():  # since before this kernel started
        asyncio.ensure_future(watch(0))
    return Panel([button, state], lambda: state.value)
