"""Links to pages that had other names: they lead to the page that shows the same today."""

import streamlit as st

# The page of before -> the page of today, and the choices of its address that have other names now.
PAGES = {
    "spans": ("tasks", {"passage": "text"}),
    "labels": (
        "tasks",
        {
            "labels_tab": "tasks_tab",
            "label_text": "text",
            "label_pair": "pair",
            "label_two": "two",
            "label_other": "other",
        },
    ),
    "dataset": ("tasks", {}),
    "embeddings": ("meaning", {}),
}
TABS = {"spans": "Answers", "labels": "Opinion", "dataset": "A whole file"}
NAMES = {"The whole text": "Opinion", "Each word": "Names"}


def lead_on(page: str) -> None:
    """Open the page of today with the choices of this address."""
    choices = {key: st.query_params.get_all(key) for key in st.query_params}
    address, query = translated(page, choices)
    st.switch_page(f"views/{address}/page.py", query_params=query)


def translated(page: str, choices: dict[str, list[str]]) -> tuple[str, dict[str, list[str]]]:
    """Return the page of today for one of before, and its choices."""
    today, renamed = PAGES.get(page, (page, {}))
    if choices.get("labels_tab") == ["Next sentence"]:
        renamed = {**renamed, "label_text": "", "label_pair": "", "next_text": "text", "next_pair": "pair"}
    found = {} if page not in TABS else {"tasks_tab": [TABS[page]]}
    for key, values in choices.items():
        name = renamed.get(key, key.replace("embeddings_", "meaning_"))
        if name:
            found[name] = [NAMES.get(value, value) for value in values]
    return today, found
