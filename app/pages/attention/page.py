"""Attention: all heads at once and one in full, heads switched off, other measures, and bertviz."""

from app.pages.attention import bertviz as attention_bertviz
from app.pages.attention import heads as attention_heads
from app.pages.attention import knockout as attention_knockout
from app.pages.attention import measures as attention_measures
from app.shared import models, state

EXAMPLES = {
    "a gap": {"text": state.DEFAULT_TEXT, "pair": ""},
    "no gap": {"text": state.DEFAULT_TEXT.replace("[MASK]", "animal"), "pair": ""},
    "a pair": {"text": "the man went to the store.", "pair": "he bought a gallon of milk."},
}
# What shows each view, and the head that its model needs.
VIEWS = {
    "All heads": (attention_heads, "encoder"),
    "Switch heads off": (attention_knockout, "fill"),
    "Is it an explanation?": (attention_measures, "fill"),
    "bertviz": (attention_bertviz, "encoder"),
}

state.heading(
    "Attention heads",
    "In every layer each token gathers from the others, in several ways at once: each way is a *head*. Look at what "
    "every head does, take heads away, and ask whether what a head looks at explains what the model says.",
)
state.example_pills("Try", EXAMPLES)
text, pair = state.text_fields()
with state.open_tab("attention", VIEWS) as name:
    part, task = VIEWS[name]
    part.show(models.model_for(task), text, pair)
