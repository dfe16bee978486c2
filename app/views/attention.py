"""Attention: all heads at once and one in full, heads switched off, other measures, and bertviz."""

import models
import state

EXAMPLES = {
    "a gap": {"text": state.DEFAULT_TEXT, "pair": ""},
    "no gap": {"text": state.DEFAULT_TEXT.replace("[MASK]", "tired"), "pair": ""},
    "a pair": {"text": "the man went to the store.", "pair": "he bought a gallon of milk."},
}
TABS = {
    "heads": "All heads",
    "knockout": "Switch heads off",
    "measures": "Is it an explanation?",
    "bertviz": "bertviz",
}

state.heading(
    "Attention heads",
    "In every layer each token gathers from the others. Each small square is one head: rows are tokens "
    "that look, columns tokens that are looked at, bright is much. Choose a head to read it in full.",
)
state.example_pills("Try", EXAMPLES)
text, pair = state.text_fields()
tabs = state.tabs("attention", TABS)
if tabs["heads"].open:
    with tabs["heads"], state.box():
        from parts import attention_heads

        attention_heads.show(models.model_for("encoder"), text, pair)
if tabs["knockout"].open:
    with tabs["knockout"], state.box():
        from parts import attention_knockout

        attention_knockout.show(models.model_for("fill"), text, pair)
if tabs["measures"].open:
    with tabs["measures"], state.box():
        from parts import attention_measures

        attention_measures.show(models.model_for("fill"), text, pair)
if tabs["bertviz"].open:
    with tabs["bertviz"], state.box():
        from parts import attention_bertviz

        attention_bertviz.show(models.model_for("encoder"), text, pair)
