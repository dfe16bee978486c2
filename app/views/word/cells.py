"""The notebook cell of the followed word; a test runs it."""

from typing import TYPE_CHECKING

from app.views.masking.cells import arguments, model_of

if TYPE_CHECKING:
    from app.views.masking.mask import Query


def word(query: "Query", number: int, truth: str | None) -> str:
    return f"""from bertlab.draw.html.word import word_widget
from bertlab.explain.ablation import random_control
from bertlab.explain.words.follow import follow_word
{model_of(query)}

question = dict(text={arguments(query)}, gap={number})
word = follow_word(model, tok, **question)
control = follow_word(random_control(model), tok, **question)
print(word.lens.layers[-1].tokens[:3])
word_widget(word, {query.loaded.name!r}, control, {truth!r})"""
