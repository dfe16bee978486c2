"""Notebook cells of the page Play; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.model.models import Loaded
from app.shared.page.exports import model_lines

if TYPE_CHECKING:
    from app.views.play.gap import Question, Version


def guesses(loaded: Loaded, both: Sequence["Version"], word: str, k: int, title: str) -> str:
    asked = [(version.text, version.gap, version.truth) for version in both]
    return f"""from bertlab.draw.charts.masking import titled_panels
from bertlab.explain.words.guess import guess_words
{lines_of(loaded)}

asked, word = {asked!r}, {word!r}  # texts, each with the number of its gap and the word hidden there
found = {{text: guess_words(model, tok, text, word, gap, k={k}, limit={loaded.limit}) for text, gap, _ in asked}}
mine = {{guess.word for guess in found.values() if guess.rank}}
print(*[(guess.word, guess.rank, f"{{guess.probability:.4f}}") for guess in found.values()])
fills = {{text: guess.with_word for text, guess in found.items()}}
titled_panels(fills, {title!r}, [truth for *_, truth in asked], mine)"""


def film(loaded: Loaded, version: "Version") -> str:
    return f"""from bertlab.draw.html.word import word_widget
from bertlab.explain.ablation import random_control
from bertlab.explain.words.follow import follow_word
{lines_of(loaded)}

question = dict(text={version.text!r}, gap={version.gap}, limit={loaded.limit})
word = follow_word(model, tok, **question)
control = follow_word(random_control(model), tok, **question)
print(word.lens.layers[-1].tokens[:3])
word_widget(word, {loaded.name!r}, control, {version.truth!r})"""


def why(question: "Question", guess: str) -> str:
    return f"""from bertlab.draw.charts.attribution import attribution_bars
from bertlab.explain.ablation import random_control
from bertlab.explain.attribution import attribute_fill
from bertlab.explain.words.fill import masked_row
{lines_of(question.loaded)}

batch, positions = masked_row(model, tok, {question.version.text!r}, limit={question.loaded.limit})
asked = batch, positions[{question.version.gap}], tok.convert_tokens_to_ids({guess!r})
found = attribute_fill(model, tok, *asked)
control = attribute_fill(random_control(model), tok, *asked)
print(f"sum {{found.values.sum():.2f}}, log-odds rose by {{found.score - found.baseline:.2f}}")
attribution_bars(found, control)"""


def lens(question: "Question", position: int, k: int) -> str:
    return f"""from bertlab.draw.charts.masking import lens_grid
from bertlab.explain.words.lens import logit_lens
{lines_of(question.loaded)}

text = {question.version.text!r}
lens = logit_lens(model, tok, text, position={position}, k={k}, limit={question.loaded.limit})
print(f"{{lens.answer}}: ranks {{lens.ranks}}, first leads after layer {{lens.first_lead}}")
lens_grid(lens)"""


def sweep(question: "Question", k: int) -> str:
    return f"""from bertlab.draw.charts.masking import surprisal_bars
from bertlab.explain.words.surprisal import pseudo_log_likelihood, pseudo_perplexity, sweep
{lines_of(question.loaded)}

rows = list(sweep(model, tok, {question.version.typed!r}, k={k}, limit={question.loaded.limit}))
print(f"{{pseudo_log_likelihood(rows):.1f}} nats, pseudo-perplexity {{pseudo_perplexity(rows):.1f}}")
surprisal_bars(rows, tok.vocab_size)"""


def sides(reader: str, bert: str, texts: Sequence[str], k: int, limit: int, title: str) -> str:
    return f"""from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.masking import titled_panels
from bertlab.explain.words.from_left import fill_from_left
from bertlab.explain.words.guess import guess_words

sources = {reader!r}, {bert!r}
(reader, first), (bert, second) = (
    (BertForPreTraining.from_pretrained(source), Tokenizer.from_pretrained(source)) for source in sources
)
texts = {list(texts)!r}
left = {{f"From the left alone: {{text}}": fill_from_left(reader, first, text, k={k}, limit={limit}) for text in texts}}
both = {{f"From both sides: {{text}}": guess_words(bert, second, text, k={k}, limit={limit}).fill for text in texts}}
titled_panels(left | both, {title!r})"""


def lines_of(loaded: Loaded) -> str:
    return model_lines("BertForPreTraining", loaded.source, loaded.random)
