"""Masked words: what BERT would write in the gaps and why, and both tasks of its pretraining."""

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.text import fit, texts, versions
from app.views.masking import fill_in, layer_by_layer, mask, next_sentence, pretraining_draw, two_versions, whole_text
from bertlab.explain.text import encode

OF_MASKED_WORDS = {"Fill in": fill_in, "Layer by layer": layer_by_layer}
OF_THE_TEXT = {"Whole text": whole_text, "Pretraining's draw": pretraining_draw, "Next sentence": next_sentence}


def show(text: str, pair: str | None, other: str | None) -> None:
    loaded, beside = models.model_for("fill"), models.beside("fill")
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    fit.notice("fill", loaded, text)
    with layout.open_tab("masking", [*OF_MASKED_WORDS, *OF_THE_TEXT]) as name:
        if name in OF_THE_TEXT:
            OF_THE_TEXT[name].show(mask.queries(loaded, beside, encoded, text, pair))
        elif positions := mask.choose(encoded):
            queries = mask.queries(loaded, beside, encoded, text, pair, positions)
            if other:
                two_versions.show(queries[0], encoded, positions, other)
            OF_MASKED_WORDS[name].show(queries, encoded, positions)


layout.heading(
    "Masked words",
    "BERT learns by filling gaps. Hide words of your own text to see what BERT would write there. It reads the "
    "words on *both* sides, and you can see which of them decide.",
)
examples = texts.chosen().masked
versions.examples_and_switch("", examples)
text, pair = state.text_fields(examples)
other = versions.field("", text)
with layout.box():
    show(text, pair, other)
