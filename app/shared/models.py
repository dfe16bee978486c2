"""Which models a page shows: the chosen one, the one to compare with, and their controls with random weights."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from app.shared.markdown import plain
from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Tokenizer,
)
from bertlab.errors import InputError
from bertlab.explain.ablation import random_control
from bertlab.io import hub
from bertlab.io.gate import read_json
from bertlab.io.locate import locate, snapshots
from bertlab.model.base import PretrainedModel
from bertlab.model.weights import Weights, weights_file
from bertlab.tasks.registry import family_of

DEFAULT_MODEL = "storyworld-tiny"
NOTHING, RANDOM = "nothing", "random weights"
END = "end"  # of the training, where a model has snapshots
CLASSIFIER = "classifier"  # the heads for texts, words and choices all have this name
DRAWN_TOKENS = 128  # nobody reads more than this in a picture
KEPT_MODELS, KEPT_CONTROLS, KEPT_BYTES = 8, 3, "400MB"  # shared by all sessions
READ_FILES = {*hub.SMALL_FILES, "model.safetensors.index.json", "pytorch_model.bin.index.json"}  # beside the weights

# task -> model class, published name of the head that it needs, the bundled checkpoint that has it
TASKS: dict[str, tuple[type[PretrainedModel], str | None, str]] = {
    "encoder": (BertModel, None, DEFAULT_MODEL),
    "fill": (BertForPreTraining, "cls.predictions", DEFAULT_MODEL),
    "answer": (BertForQuestionAnswering, "qa_outputs", "storyworld-tiny-qa"),
    "text label": (BertForSequenceClassification, CLASSIFIER, "storyworld-tiny-sentiment"),
    "word labels": (BertForTokenClassification, CLASSIFIER, "storyworld-tiny-entities"),
}

# The page says which head a checkpoint lacks (Loaded.has); the server's log need not.
warnings.filterwarnings("ignore", ".*newly initialised")


@dataclass(frozen=True)
class Loaded:
    """A model ready to use; `stamp` changes when the files in its folder do.

    `name` is for visitors, `source` is what from_pretrained takes in a notebook, `heads` are the published names of the
    stored tensors outside the encoder. `random`: its weights were drawn, not learned.
    """

    name: str
    source: str
    stamp: str
    model: PretrainedModel
    tokenizer: Tokenizer
    heads: frozenset[str] = frozenset()
    random: bool = False

    @property
    def limit(self) -> int:
        """The largest number of tokens that is drawn."""
        return min(self.model.config.max_position_embeddings, DRAWN_TOKENS)

    def has(self, head: str) -> bool:
        """Return whether the checkpoint has this head, such as "cls.seq_relationship"; else its weights are random."""
        return any(name.startswith(head) for name in self.heads)


def chosen() -> str:
    """Return what the model bar has opened: a bundled name, a folder or a hub id, with the step of a snapshot."""
    return st.session_state.get("opened_name", DEFAULT_MODEL)


def problem_of(name: str) -> str:
    """Return why a model (of an unfinished training its last snapshot) cannot be opened; "" if it can."""
    try:
        open_model("encoder", newest(name))
    except InputError as error:
        return str(error)
    return ""


def at_step(name: str, step: str) -> str:
    """Return the name that opens a model's snapshot, or the model itself at the end of its training."""
    return name if step == END else f"{name}/step-{int(step):05d}"


def steps() -> list[str]:
    """Return the steps at which the chosen model has snapshots, and END if its training ended; [] without any."""
    return steps_of(st.session_state.get("opened_model", DEFAULT_MODEL))


def steps_of(name: str) -> list[str]:
    folder = folder_of(name)
    found = [str(step) for step in snapshots(folder)]
    ended = [END] if weights_file(folder) else []
    return found + ended if found else []


def newest(name: str) -> str:
    """Return the model itself, or the last snapshot of an unfinished training. Raises InputError without a model."""
    return at_step(name, (steps_of(name) or [END])[-1])


def folder_of(name: str) -> Path:
    """Return the folder of a model. The hub is asked at most once in ten minutes."""
    return _hub_folder(name) if hub.is_id(name) and not Path(name).is_dir() else locate(name)


@st.cache_data(ttl="10m", max_entries=50, show_spinner="Asking the hub")
def _hub_folder(name: str) -> Path:
    return locate(name, weights=True)


def model_for(task: str) -> Loaded:
    """Return the chosen model if it has the head for `task`, or else a bundled one, and say so."""
    name, fallback = chosen(), TASKS[task][2]
    loaded = open_model(task, name)
    if loaded is None:
        if name != DEFAULT_MODEL:  # the default and its fine-tuned twin need no explanation
            text = f"**{readable(name)}** has no head for this task, so you see **{fallback}**."
            st.info(text, icon=":material/info:")
        loaded = open_model(task, fallback)
    if loaded is None:
        raise InputError(f"{fallback} has no trained head for this task: choose another model")
    return loaded


def beside(task: str) -> Loaded | None:
    """Return the model to compare with; None if none is chosen, or if it has no head for `task`, which is said."""
    name = st.session_state.get("versus") or NOTHING
    if name == NOTHING:
        return None
    if name == RANDOM:
        return control_of(model_for(task))
    try:
        loaded = open_model(task, name)
    except InputError as error:
        raise InputError(f"compare with {name}: {error}") from error
    if loaded is None:
        text = f"**{readable(name)}** has no head for this task, so there is no comparison."
        st.info(text, icon=":material/info:")
    return loaded


def upload_name(name: str) -> str | None:
    """Return the name of the uploaded file that a model came from; None if it was not uploaded."""
    return st.session_state.get("upload_names", {}).get(name)


def readable(name: str) -> str:
    """Return the name of a model for Markdown; that of its file if it was uploaded."""
    return plain(upload_name(name) or name)


def head_start(name: str) -> bool:
    """Return whether the recipe gave this model more than random initial weights (see docs/plateau.md)."""
    try:
        recipe = folder_of(name.partition("/step-")[0]) / "recipe.json"
        fields = read_json(recipe) if recipe.exists() else {}
    except InputError:
        return False
    return fields.get("position_init") == "sinusoid" or fields.get("attention_init") == "matched"


def open_model(task: str, name: str) -> Loaded | None:
    """Return the model with the head for `task`; None if its checkpoint lacks that. Raises InputError if damaged."""
    folder = folder_of(name)
    loaded = _open(task, name, f"{task} {folder.resolve()} {contents(folder)}")
    upload = upload_name(name)
    return replace(loaded, name=upload, source=Path(upload).stem) if loaded and upload else loaded


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Return name, time and size of the files of a model. Raises InputError for a folder that cannot be read."""
    try:
        files = [
            file for file in folder.iterdir() if file.suffix in (".safetensors", ".bin") or file.name in READ_FILES
        ]
        return sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror})") from error


@st.cache_resource(max_entries=KEPT_MODELS, show_spinner="Opening the model")
def _open(task: str, name: str, stamp: str) -> Loaded | None:
    kind, head, _ = TASKS[task]
    if head == CLASSIFIER and getattr(family_of(name), "head", None) is not kind:
        return None
    stored = frozenset(Weights(locate(name, weights=True)))
    if head and not any(tensor.startswith(head) for tensor in stored):
        return None
    heads = frozenset(tensor for tensor in stored if not tensor.startswith(("encoder.", "embeddings.")))
    return Loaded(name, name, stamp, kind.from_pretrained(name), Tokenizer.from_pretrained(name), heads)


@st.cache_resource(max_entries=KEPT_CONTROLS, show_spinner=False)
def _control(stamp: str, _loaded: Loaded) -> Loaded:
    return replace(_loaded, name=RANDOM, stamp=f"control {stamp}", model=random_control(_loaded.model), random=True)


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
