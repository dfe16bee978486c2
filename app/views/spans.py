"""Answer spans: how BERT marks an answer in a passage."""

import models
import pandas as pd
import state
import streamlit as st
from cells import spans as cells
from exports import exports

from bertlab.draw import charts
from bertlab.draw.marked import marked_passage
from bertlab.explain.spans import Answer, answer
from bertlab.tasks.answers import MAX_ANSWER_TOKENS

QUESTION = "What did Ruth buy?"
PASSAGE = (
    "Ruth Hill was a baker of Ashford. She lived on Elm Street with Rex, her dog. Ruth went to the toy shop. "
    "She bought a red kite from the toymaker for nine coins. “Nine coins for a red kite?” cried Mark. "
    "“The price of the toy shop,” said Ruth."
)
WINDOW = 56  # tokens that a readable heat map holds


@st.cache_data(show_spinner=False)
def examples() -> dict[str, dict[str, str]]:
    """A few held-out questions about the story world, the first of them without an answer."""
    from bertlab.corpora.storyworld import questions

    chosen = {}
    for example in questions(seed=0, count=60, split="test"):
        kind = "none" if example.is_impossible else example.kind
        chosen.setdefault(kind, {"question": example.question, "passage": example.context})
    kept = [chosen.pop("none", None), *chosen.values()][:5]
    return {fields["question"]: fields for fields in kept if fields}


def window(found: Answer) -> range:
    """The passage tokens to draw: all of them, or those around the best span."""
    start, stop = found.passage_slice
    if stop - start <= WINDOW:
        return range(start, stop)
    middle = found.best.start_token or start
    first = max(start, min(middle - WINDOW // 2, stop - WINDOW))
    return range(first, first + WINDOW)


def show_answer(found: Answer) -> None:
    with st.container(border=True):
        st.html(marked_passage(found.passage, found.best.start_char, found.best.end_char))
    text, share, nothing = st.columns([4, 3, 3])
    text.metric("Answer", found.best.text or "no answer")
    share.metric("Its probability", f"{found.best.probability:.0%}")
    nothing.metric("Probability of no answer", f"{found.no_answer_probability:.0%}")


def best_table(found: Answer) -> pd.DataFrame:
    rows = [
        (rank, span.text or "(no answer)", span.probability, span.score) for rank, span in enumerate(found.spans, 1)
    ]
    return pd.DataFrame(rows, columns=["rank", "answer", "probability", "score"])


def show_pictures(found: Answer, tokens: range) -> None:
    st.subheader("Every start against every end", anchor=False)
    st.markdown(
        "A row is the token an answer starts with, a column the one it ends with. Cells that cannot be an answer "
        f"(end before start, longer than {MAX_ANSWER_TOKENS} tokens) are left out. The framed cell is the best span."
    )
    if len(found.windows) > 1:
        st.caption(
            f"The passage is longer than the model reads at once, so it was read in {len(found.windows)} overlapping "
            f"windows: this is window {found.window + 1}, which holds the best span."
        )
    if len(tokens) < found.passage_slice[1] - found.passage_slice[0]:
        st.caption(f"There are many tokens: {len(tokens)} around the best span are drawn.")
    st.altair_chart(charts.span_heatmap(found, tokens), width="stretch", alt="Probability of every start and end")
    st.subheader("Where it may start, where it may end", anchor=False)
    st.markdown("The head gives each token two scores of its own; a softmax over the whole input makes these bars.")
    bars = charts.boundary_bars(found, tokens)
    st.altair_chart(bars, width="stretch", alt="Probability of the answer's start and end at each token")


def show(question: str, passage: str) -> None:
    loaded = models.model_for("answer")
    found = models.compute(answer, loaded, question, passage)
    state.notices(found.dropped, found.unknown, len(found.tokens))
    st.caption(f"Answered by {state.plain(loaded.name)}.")
    show_answer(found)
    st.markdown("**The best spans**")
    share = st.column_config.ProgressColumn("probability", format="percent", min_value=0, max_value=1)
    st.dataframe(best_table(found), hide_index=True, column_config={"probability": share})
    tokens = window(found)
    show_pictures(found, tokens)
    code = cells.answer(loaded.name, question, passage)
    table = charts.span_table(found, range(*found.passage_slice))
    ranked = table.sort_values("probability", ascending=False)
    exports("answer-spans", ranked, code, charts.span_heatmap(found, tokens))


state.heading(
    "Answer spans",
    "A fine-tuned BERT answers by marking: for each token it says how well an answer could start there and "
    "end there. If the [CLS] token scores best, the passage holds no answer. It can only copy, and it can be "
    "wrong.",
)
state.example_pills("Try a question that the model has not seen", examples())
question = state.linked_text(st.text_input, "Your question", "question", QUESTION)
passage = state.linked_text(st.text_area, "Your passage", "passage", PASSAGE, height=150)
with state.box():
    show(question, passage)
