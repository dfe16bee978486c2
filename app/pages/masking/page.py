"""Masked words: what BERT writes in the gaps and why, and both tasks of its pretraining."""

from app.pages.masking import draw as masking_draw
from app.pages.masking import fills as masking_fills
from app.pages.masking import gaps as masking_gaps
from app.pages.masking import lens as masking_lens
from app.pages.masking import next as masking_next
from app.pages.masking import sweep as masking_sweep
from app.shared import models, state
from bertlab.explain.text import encode

EXAMPLES = {
    "too tired": {"text": state.DEFAULT_TEXT, "pair": ""},
    "too wide": {"text": state.DEFAULT_TEXT.replace("tired", "wide"), "pair": ""},
    "my dog": {"text": "my dog is [MASK].", "pair": "he likes walks."},
    "the store": {"text": "the man went to the [MASK].", "pair": "he bought a gallon of milk."},
    "penguins": {"text": "penguins are flightless [MASK].", "pair": ""},
}
OF_GAPS = {"Fill in": masking_fills, "Layer by layer": masking_lens}
OF_THE_TEXT = {"Whole text": masking_sweep, "Pretraining's draw": masking_draw, "Next sentence": masking_next}


def show(text: str, pair: str | None) -> None:
    loaded, beside = models.model_for("fill"), models.beside("fill")
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    state.notices(encoded.dropped, encoded.unknown, len(encoded.tokens))
    with state.open_tab("masking", [*OF_GAPS, *OF_THE_TEXT]) as name:
        if name in OF_THE_TEXT:
            OF_THE_TEXT[name].show(masking_gaps.asked(loaded, beside, encoded, text, pair))
        elif gaps := masking_gaps.choose(encoded):
            OF_GAPS[name].show(masking_gaps.asked(loaded, beside, encoded, text, pair, gaps), encoded, gaps)


state.heading(
    "Masked words",
    "BERT learns by filling gaps. Hide words of your own text and see what it would write there, reading the "
    "words on *both* sides, and which of them made it write that.",
)
state.example_pills("Try", EXAMPLES)
text, pair = state.text_fields()
with state.box():
    show(text, pair)
