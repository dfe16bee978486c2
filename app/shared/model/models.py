"""Which models a page shows: the chosen one, the one to compare with, and their controls with random weights."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from app.shared.model import gate
from app.shared.model.bundled import DEFAULT_MODEL, READ, SPECIALISTS, origin, specialist
from app.shared.page.markdown import plain
from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Tokenizer,
)
from bertlab.errors import InputError, brief
from bertlab.explain.ablation import random_control
from bertlab.io import hub
from bertlab.io.files import present
from bertlab.io.locate import ADAPTER, bundled_models, locate, snapshots
from bertlab.model.base import PretrainedModel, open_weights
from bertlab.model.weights import weights_file
from bertlab.tasks.registry import family_of

NOTHING, RANDOM = gate.CONTROLS
CONTROL = "control "  # before the stamp of a model, that of its architecture with random weights
END = "end"  # of the training, where a model has snapshots
WHY_ANOTHER = "A page that needs a head which the chosen model lacks, or models of its own, shows bundled ones."
CLASSIFIER = "classifier"  # the heads for texts, words and choices all have this name
DRAWN_TOKENS = 128  # nobody reads more than this in a picture
KEPT_MODELS, KEPT_CONTROLS, KEPT_BYTES = 8, 3, "400MB"  # shared by all sessions
WEIGHTS = (".safetensors", ".bin")
READ_FILES = {*hub.SMALL_FILES, "model.safetensors.index.json", "pytorch_model.bin.index.json"}  # beside the weights


# task -> model class, published name of the head that it needs
TASKS: dict[str, tuple[type[PretrainedModel], str | None]] = {
    "encoder": (BertModel, None),
    "fill": (BertForPreTraining, "cls.predictions"),
    "next sentence": (BertForPreTraining, "cls.seq_relationship"),
    "answer": (BertForQuestionAnswering, "qa_outputs"),
    "text label": (BertForSequenceClassification, CLASSIFIER),
    "pairs": (BertForSequenceClassification, CLASSIFIER),
    "word labels": (BertForTokenClassification, CLASSIFIER),
}


@dataclass(frozen=True)
class Loaded:
    """A model ready to use; `stamp` changes when the files in its folder do.

    `name` is for visitors, `source` is what from_pretrained takes in a notebook. `random`: its weights were drawn, not
    learned. `folder` has its files.
    """

    name: str
    source: str
    stamp: str
    model: PretrainedModel
    tokenizer: Tokenizer
    random: bool = False
    folder: str = ""

    @property
    def limit(self) -> int:
        """The largest number of tokens that is drawn."""
        return min(self.model.config.max_position_embeddings, DRAWN_TOKENS)


def chosen() -> str:
    """Return what the dialog has opened: a bundled name, a folder or a hub id, with the step of a snapshot."""
    return st.session_state.get("opened_name", DEFAULT_MODEL)


def problem_of(name: str) -> str:
    """Return why a model (of an unfinished training its last snapshot) cannot be opened; "" if it can."""
    if refused := gate.refusal(name):
        return refused
    try:
        open_model("encoder", newest(name))
    except InputError as error:
        return reason(name, error)
    return ""


def reason(name: str, error: InputError) -> str:
    """Return why `name` cannot be opened. What holds no model gets one answer, whether it exists or not."""
    if upload := upload_name(name):
        return str(error).replace(f"{name}{os.sep}", "").replace(name, upload)
    if hub.is_id(name) and gate.the_hub() or is_model(Path(name)) or gate.own(name):
        return str(error)
    known = ", ".join(bundled_models())
    return f"{brief(name)} holds no model: give a folder with config.json and weights; bundled: {known}"


def is_model(folder: Path) -> bool:
    try:
        return any(present(folder.expanduser() / file) for file in ("config.json", "modules.json", ADAPTER))
    except (InputError, OSError, RuntimeError, ValueError):  # no access, too long, ~user without a home, NUL
        return False


def at_step(name: str, step: str) -> str:
    """Return the name that opens a model's snapshot, or the model itself at the end of its training."""
    return name if step == END else f"{name}/step-{int(step):05d}"


def steps_of(name: str) -> list[str]:
    """Return the steps at which a model has snapshots, and END if its training ended; [] without any."""
    folder = folder_of(name)
    found = [str(step) for step in snapshots(folder)]
    ended = [END] if weights_file(folder) else []
    return found + ended if found else []


def newest(name: str) -> str:
    """Return the model itself, or the last snapshot of an unfinished training. Raises InputError without a model."""
    return at_step(name, (steps_of(name) or [END])[-1])


def folder_of(name: str) -> Path:
    """Return the folder of a model. The hub is asked at most once in ten minutes."""
    if gate.own(name) or (gate.folders() and is_model(Path(name))):
        return locate(name)
    if gate.the_hub() and hub.is_id(name):
        return _hub_folder(name)
    raise InputError(f"{brief(name)} holds no model")


@st.cache_data(ttl="10m", max_entries=50, show_spinner="Asking the hub")
def _hub_folder(name: str) -> Path:
    return hub.download(name, weights=True)


def stand_in(task: str, name: str) -> Loaded:
    """Return the bundled model with the head for `task`: the one of the family of `name`, else the first one in READ.

    InputError if there is none.
    """
    names = [specialist(task, base) for base in (origin(name), *READ)]
    for loaded in (open_model(task, each) for each in names if each in bundled_models()):
        if loaded:
            return loaded
    raise InputError("no bundled model has a trained head for this task: choose another model")


def own(task: str) -> Loaded | None:
    """Return the chosen model if it has learned this task, and not the other one with the same head."""
    other = {"text label": "pairs", "pairs": "text label"}.get(task, "")
    return None if chosen() in SPECIALISTS.get(other, {}).values() else open_model(task, chosen())


def model_for(task: str, base: str | None = None) -> Loaded:
    """Return the chosen model if it has the head for `task`, or else a bundled one, of `base` if that is given, and say
    so."""
    name = chosen()
    loaded = own(task)
    if loaded is None:
        loaded = stand_in(task, base or name)
        if origin(loaded.name) != name:  # a model and its fine-tuned twin need no explanation
            has_read = READ[origin(loaded.name) or ""]
            text = f"**{readable(name)}** has no head for this task, so you see **{loaded.name}**."
            st.info(f"{text} It has read {has_read}.", icon=":material/info:")
        name = loaded.name
    name_model(name)
    return loaded


def name_model(name: str, versus: bool = False) -> None:
    """Name a model that this page really shows, in the header, or with `versus` one that it compares with."""
    names, compared, place = st.session_state.shown_models
    (compared if versus else names)[name] = f"**{readable(name)}**"
    beside = "".join(f", compared with {one}" for one in compared.values())
    help = None if list(names) == [chosen()] else WHY_ANOTHER
    place.caption(f"Model: {' and '.join(names.values())}{beside}", help=help)


def beside(task: str) -> Loaded | None:
    """Return the model to compare with, which the header then names; None if none is chosen, or if it has no head for
    `task`, which is said."""
    name = (st.session_state.get("versus") or "").strip() or NOTHING
    if name == NOTHING or not gate.permitted(name):
        return None
    if name == RANDOM:
        name_model(name, versus=True)
        return control_of(model_for(task))
    try:
        if refused := gate.refusal(name):
            raise InputError(refused)
        loaded = open_model(task, name)
    except InputError as error:
        raise InputError(f"compare with {name}: {reason(name, error)}") from error
    if loaded is None:
        text = f"**{readable(name)}** has no head for this task, so there is no comparison."
        st.info(text, icon=":material/info:")
        return None
    name_model(name, versus=True)
    same = loaded.name == short(chosen()) and name != chosen()  # two folders of one name
    return replace(loaded, name=name) if same else loaded


def upload_name(name: str) -> str | None:
    """Return the name of the uploaded file that a model came from; None if it was not uploaded."""
    return st.session_state.get("upload_names", {}).get(name)


def readable(name: str) -> str:
    """Return the name of a model for Markdown; that of its file if it was uploaded."""
    return plain(upload_name(name) or name)


def short(name: str) -> str:
    """Return a model's name for a chart: the last folder of a path, with the step of a snapshot."""
    whole, slash, step = name.partition("/step-")
    is_path = Path(whole).is_absolute() or len(Path(whole).parts) > 2
    return (Path(whole).name if is_path else whole) + slash + step


def open_model(task: str, name: str) -> Loaded | None:
    """Return the model with the head for `task`; None if its checkpoint lacks that. Raises InputError if damaged."""
    folder = folder_of(name)
    loaded = _open(task, str(folder), f"{task} {folder.resolve()} {contents(folder)}")
    upload = upload_name(name)
    if loaded is None or not upload:
        return loaded and replace(loaded, name=short(name), source=name)
    return replace(loaded, name=upload, source=Path(upload).stem)


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Return name, time and size of the files of a model. Raises InputError for a folder that cannot be read."""
    try:
        files = [file for file in folder.iterdir() if file.suffix in WEIGHTS or file.name in READ_FILES]
        return sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror})") from error


@st.cache_resource(max_entries=KEPT_MODELS, show_spinner="Opening the model")
def _open(task: str, folder: str, stamp: str) -> Loaded | None:
    kind, head = TASKS[task]
    if head == CLASSIFIER and getattr(family_of(folder), "head", None) is not kind:
        return None
    if head and not any(tensor.startswith(head) for tensor in open_weights(Path(folder))):
        return None
    unread = {"fill": ("pooler", "nsp"), "encoder": ("pooler",)}.get(task, ())  # not every checkpoint has them
    model = kind.trained(folder, optional=unread, advice="choose another model")
    return Loaded(folder, folder, stamp, model, Tokenizer.from_pretrained(folder), folder=folder)


@st.cache_resource(max_entries=KEPT_CONTROLS, show_spinner=False)
def _control(stamp: str, _loaded: Loaded) -> Loaded:
    return replace(_loaded, name=RANDOM, stamp=f"{CONTROL}{stamp}", model=random_control(_loaded.model), random=True)


def control_of(loaded: Loaded) -> Loaded:
    """Return the same architecture with random weights; a model with random weights is its own control."""
    return loaded if loaded.random else replace(_control(loaded.stamp, loaded), source=loaded.source)


@st.cache_data(max_size=KEPT_BYTES, show_spinner=False)
def _compute(name: str, stamp: str, arguments: tuple, _function: Callable, _loaded: Loaded):
    return _function(_loaded.model, _loaded.tokenizer, *arguments)


def compute(function: Callable, loaded: Loaded, *arguments):
    """Return function(model, tokenizer, *arguments), cached for all sessions."""
    name = f"{function.__module__}.{function.__qualname__}"
    return _compute(name, loaded.stamp, arguments, function, loaded)
