"""Which models are looked at: the chosen one, the one beside it, and their like with random weights."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from app.shared.state import plain
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
from bertlab.model.weights import Weights, weights_file
from bertlab.tasks.registry import family_of

DEFAULT_MODEL = "storyworld-tiny"
NOTHING, RANDOM = "nothing", "random weights"
END = "end"  # of the training, where a model has snapshots
CLASSIFIER = "classifier"  # the heads for texts, words and choices all have this name
DRAWN_TOKENS = 128  # more than this nobody reads in a picture
KEPT_MODELS, KEPT_CONTROLS, KEPT_BYTES = 8, 3, "400MB"  # for all sessions together
READ_FILES = {*hub.SMALL_FILES, "model.safetensors.index.json", "pytorch_model.bin.index.json"}  # beside the weights

# task -> model class, published name of the head that it needs, the bundled checkpoint that has it
TASKS = {
    "encoder": (BertModel, None, DEFAULT_MODEL),
    "fill": (BertForPreTraining, "cls.predictions", DEFAULT_MODEL),
    "answer": (BertForQuestionAnswering, "qa_outputs", "storyworld-tiny-qa"),
    "text label": (BertForSequenceClassification, CLASSIFIER, "storyworld-tiny-sentiment"),
    "word labels": (BertForTokenClassification, CLASSIFIER, "storyworld-tiny-entities"),
}

# A head that a checkpoint lacks is told on the page (Loaded.has), not in the server's log.
warnings.filterwarnings("ignore", ".*newly initialised")


@dataclass(frozen=True)
class Loaded:
    """A model ready to use; `stamp` changes when the files in its folder do.

    `name` is for readers, `source` is what from_pretrained takes in a notebook, `heads` are the published names of the
    stored tensors that are no part of the encoder. `random`: its weights were drawn, not learned.
    """

    name: str
    source: str
    stamp: str
    model: object
    tokenizer: Tokenizer
    heads: frozenset[str] = frozenset()
    random: bool = False

    @property
    def limit(self) -> int:
        """The most tokens that are drawn."""
        return min(self.model.config.max_position_embeddings, DRAWN_TOKENS)

    def has(self, head: str) -> bool:
        """Whether the checkpoint holds this head, such as "cls.seq_relationship"; else its weights are random."""
        return any(name.startswith(head) for name in self.heads)


def chosen() -> str:
    """What the model bar has opened: a bundled name, a folder or a hub id, with the step of a snapshot."""
    return st.session_state.get("opened_name", DEFAULT_MODEL)


def problem_of(name: str) -> str:
    """Why the model of this name (of a training under way, its last snapshot) cannot be opened, "" if it can."""
    try:
        open_model("encoder", newest(name))
    except InputError as error:
        return str(error)
    return ""


def at_step(name: str, step: str) -> str:
    """The name under which a model's snapshot is opened, or the model itself for the end of its training."""
    return name if step == END else f"{name}/step-{int(step):05d}"


def steps() -> list[str]:
    """The training steps of which the chosen model has snapshots, and the end if it came; [] where it has none."""
    return steps_of(st.session_state.get("opened_model", DEFAULT_MODEL))


def steps_of(name: str) -> list[str]:
    folder = place(name)
    found = [str(step) for step in snapshots(folder)]
    ended = [END] if weights_file(folder) else []
    return found + ended if found else []


def newest(name: str) -> str:
    """The model itself or, of a training that is under way, its last snapshot. InputError where there is no model."""
    return at_step(name, (steps_of(name) or [END])[-1])


def place(name: str) -> Path:
    """The folder of a model. The hub is asked at most once in ten minutes."""
    return _hub_folder(name) if hub.is_id(name) and not Path(name).is_dir() else locate(name)


@st.cache_data(ttl="10m", max_entries=50, show_spinner="Asking the hub")
def _hub_folder(name: str) -> Path:
    return locate(name, weights=True)


def model_for(task: str) -> Loaded:
    """The chosen model with the head that `task` needs, or the bundled one that has it, saying so."""
    name, fallback = chosen(), TASKS[task][2]
    loaded = open_model(task, name)
    if loaded is None:
        if name != DEFAULT_MODEL:  # the default and its fine-tuned twin need no explanation
            box = f"**{readable(name)}** has no head for this, so **{fallback}** is shown."
            st.info(box, icon=":material/info:")
        loaded = open_model(task, fallback)
    if loaded is None:
        raise InputError(f"{fallback} has no trained head for this: choose another model")
    return loaded


def beside(task: str) -> Loaded | None:
    """The model of "compare with"; None where none is chosen, or it has no head for `task`, saying so."""
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
        st.info(f"**{readable(name)}** has no head for this, so nothing stands beside.", icon=":material/info:")
    return loaded


def upload_name(name: str) -> str | None:
    """The file that the model of this name was uploaded as; None for one that was not."""
    return st.session_state.get("upload_names", {}).get(name)


def readable(name: str) -> str:
    """The name of a model for Markdown; an uploaded one is known by the name of its file."""
    return plain(upload_name(name) or name)


def head_start(name: str) -> bool:
    """Whether this model's recipe gave it more to begin with than random weights (see docs/plateau.md)."""
    try:
        recipe = place(name.partition("/step-")[0]) / "recipe.json"
        told = read_json(recipe) if recipe.exists() else {}
    except InputError:
        return False
    return told.get("position_init") == "sinusoid" or told.get("attention_init") == "matched"


def open_model(task: str, name: str) -> Loaded | None:
    """The model with the head for `task`, None if its checkpoint lacks that. InputError where it cannot be opened."""
    folder = place(name)
    loaded = _open(task, name, f"{task} {folder.resolve()} {contents(folder)}")
    upload = upload_name(name)
    return replace(loaded, name=upload, source=Path(upload).stem) if loaded and upload else loaded


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Name, time and size of the files that a model is read from. InputError for a folder that cannot be read."""
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
    """The same architecture with random weights; of such a one, itself."""
    return loaded if loaded.random else replace(_control(loaded.stamp, loaded), source=loaded.source)


@st.cache_data(max_size=KEPT_BYTES, show_spinner=False)
def _compute(name: str, stamp: str, arguments: tuple, _function: Callable, _loaded: Loaded):
    return _function(_loaded.model, _loaded.tokenizer, *arguments)


def compute(function: Callable, loaded: Loaded, *arguments):
    """function(model, tokenizer, *arguments), remembered for all sessions."""
    name = f"{function.__module__}.{function.__qualname__}"
    return _compute(name, loaded.stamp, arguments, function, loaded)
