"""The table of predictions: filtered by error and word; a row opens in another page."""

import pandas as pd
import streamlit as st

from app.explore import PAGES, file_of
from app.shared.page import layout, state
from app.shared.page.exports import Name, exports
from app.shared.page.markdown import plain
from app.views.tasks.file.judged import LETTERS, Judged
from bertlab.draw.percent import percent

EVERY, WRONG, RIGHT = "all rows", "errors", "right"
SHORT, TALL = 10, 400  # rows of a table that does not scroll; pixels of one that does


def show(judged: Judged) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        kept, asked = right_or_wrong(judged.table), judged.table[with_word(judged)]
    shown = asked[kept[asked.index]]
    scores, unit = asked.get("score", pd.Series(dtype=float)).dropna(), judged.data.kind.unit
    mean = f" ({unit} of the {len(scores):,} measured: {percent(scores.mean())})" if len(scores) else ""
    st.caption(f"{len(shown):,} of {len(asked):,} rows{mean}. Press a row at its left edge to open it.")
    chosen = show_table(shown)
    if chosen is not None:
        show_row(judged, chosen)
    measured = Name("task.measures(examples, predictions)" if judged.known else "predictions")
    exports("predictions", shown, judged.cell().shows(measured))


def right_or_wrong(table: pd.DataFrame) -> pd.Series:
    """Return whether each row is to be shown, by its score."""
    every = pd.Series(True, index=table.index)
    if "score" not in table or table["score"].isna().all():
        return every
    errors = state.one_of(
        "Show", [EVERY, WRONG, RIGHT], "dataset_errors", label_visibility="collapsed", persist_state="session"
    )
    return {EVERY: every, WRONG: table["score"] < 1, RIGHT: table["score"] == 1}[errors]


def with_word(judged: Judged) -> pd.Series:
    """Return whether each row has the word that is asked for."""
    look: dict = dict(label_visibility="collapsed", placeholder="With the word", width=220)
    word = state.linked_text(st.text_input, "With the word", "dataset_word", **look).strip().lower()
    return pd.Series([not word or word in words for words in judged.words], index=judged.table.index)


def show_table(shown: pd.DataFrame) -> int | None:
    """Show the rows; return the number of the example that is chosen, by a press or by the link."""
    cut = shown.copy()
    for name in cut.select_dtypes(exclude="number").columns.difference(["probability"]):  # where there may be none
        cut[name] = cut[name].astype(str).str.slice(0, LETTERS)
    if "score" in cut:
        cut.insert(0, "right", cut.pop("score").map(mark))
    cut, config = layout.with_bars(cut, "probability")
    config["right"] = st.column_config.TextColumn("✓", width=40)
    for name in {"predicted", "label"} & set(cut):  # as wide as they need to be: the text wants the room
        config[name] = st.column_config.TextColumn(width=min(180, 30 + 8 * max([9, *cut[name].str.len()])))
    key = f"dataset table {hash(tuple(shown.index))}"
    linked = state.number_in(state.link_value("dataset_row")) if state.unset(key) else None
    at = [place for place, number in enumerate(shown.index) if linked == number + 1]
    start = {"selection": {"rows": at}} if at else None
    options = dict(key=key, on_select="rerun", selection_mode="single-row", selection_default=start)
    found = st.dataframe(
        cut, hide_index=True, height=TALL if len(cut) > SHORT else "auto", column_config=config, **options
    ).selection.rows
    chosen = int(shown.index[found[0]]) if found and found[0] < len(shown) else None
    state.share("dataset_row", "" if chosen is None else str(chosen + 1))
    return chosen


def mark(score: float) -> str:
    return "" if pd.isna(score) else "✓" if score == 1 else "✗" if score == 0 else f"{score:.2f}"


def show_row(judged: Judged, number: int) -> None:
    """Show one row in full, with links to the pages that open it."""
    kind, example, row = judged.data.kind, judged.data.examples[number], judged.table.loc[number]
    with st.container(border=True):
        for name in [name for name in row.index if name not in ("score", "probability")]:
            st.markdown(f"**{name}**: {plain(str(row[name]))}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Open it in", width="content")
            texts = kind.texts(example)
            tab = "Pairs" if kind.columns and texts["pair"] else kind.tab
            st.button(tab, type="tertiary", icon=PAGES["tasks"][1], on_click=open_here, args=[tab, texts])
            title, icon = PAGES["attention"]
            as_read = {"text": texts["question"], "pair": texts["text"]} if "question" in texts else texts
            chosen = {key: st.query_params[key] for key in state.MODELS if key in st.query_params}
            link = chosen | {key: text for key, text in as_read.items() if state.fits(text)} | {state.ROW: "row"}
            st.page_link(file_of("attention"), label=title, icon=icon, query_params=link)
        st.session_state[state.ROW] = as_read


def open_here(tab: str, texts: dict[str, str]) -> None:
    """Show a row as the text of the page, under another tab."""
    st.session_state.tasks_tab = tab
    state.fill(texts)
