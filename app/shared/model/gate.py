"""What a page may open: bundled models and runs always, folders and the hub only if the visitor asks for it."""

import os
from pathlib import Path

import streamlit as st

from app.shared.page.markdown import plain
from bertlab.io import hub
from bertlab.io.locate import bundled_models

RUNS = Path("runs")  # where `bertlab pretrain` writes
NO_FOLDERS, NO_HUB = "BERTLAB_NO_FOLDERS", "BERTLAB_NO_HUB"  # set by `bertlab explore --no-folders --no-hub`
CONTROLS = ("nothing", "random weights")  # what one may compare with that is no model
LETTERS = 120  # of a name in a message


def folders() -> bool:
    return not os.environ.get(NO_FOLDERS)


def the_hub() -> bool:
    return not os.environ.get(NO_HUB)


def places() -> str:
    """Return what a typed name may be on this server, in words; "" if nothing."""
    return " or ".join(["folder"] * folders() + ["hub id"] * the_hub())


def runs() -> list[str]:
    """Return the training runs in the folder where the server was started."""
    return sorted(str(recipe.parent) for recipe in RUNS.glob("*/recipe.json"))


def own(name: str) -> bool:
    """Return whether this is a bundled model, a run that the server lists, or the visitor's upload."""
    whole = name.partition("/step-")[0]
    return whole in bundled_models() or whole in st.session_state.get("upload_names", {}) or whole in runs()


def refusal(name: str) -> str:
    """Return why this server does not open `name`, typed or in a link; "" if it may."""
    if own(name) or folders() or (the_hub() and hub.is_id(name)):
        return ""
    return f"This server opens only its own models{', the hub' if the_hub() else ''} and uploads"


def permit(name: str) -> None:
    """Remember that the visitor typed or pressed this name."""
    st.session_state.setdefault("permitted", set()).add(name.strip().partition("/step-")[0])


def permitted(name: str) -> bool:
    """Return whether this may be opened without asking, as what is no name may: nothing, or random weights."""
    named = st.session_state.get("permitted", set())
    return name in ("", *CONTROLS) or own(name) or name.partition("/step-")[0] in named


def ask(name: str) -> None:
    """Ask before a name that came with a link is opened, unless it need not be, or is never opened here."""
    name = name.strip()
    yes, refused = permitted(name), refusal(name)
    if yes and (places() or name in ("", *CONTROLS) or own(name)):  # what may not be opened is said where it is typed
        return
    if refused:
        st.warning(f"{refused}: not **{plain(name[:LETTERS])}**.", icon=":material/lock:")
        return
    kind = "the folder or the model of the hub" if hub.is_id(name) else "the folder"
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"This link opens {kind} **{plain(name[:LETTERS])}**. Open it?"
        st.warning(text, icon=":material/folder_open:", width="stretch")
        st.button("Open it", key=f"open {name}", on_click=permit, args=[name], type="primary")
