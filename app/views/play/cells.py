"""Notebook cells of the page Play; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.model.models import Loaded
from app.shared.page.exports import model_lines

if TYPE_CHECKING:
    from app.views.play.gap import Version


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
