"""`bertlab pretrain`: a BERT from random or trained weights, in a run folder, with its measures and its card."""

from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli.shared.messages import end_stopped, measuring, print_result, reached, report_saved, say
from bertlab.cli.shared.settings import (
    RECIPE_OPTIONS,
    Flat,
    Positional,
    Settings,
    all_settings,
    check_above_zero,
    command_line,
    recipe_from,
)
from bertlab.config import VARIANTS, BertConfig
from bertlab.errors import InputError
from bertlab.io.files import expanded
from bertlab.tokenizer import Tokenizer
from bertlab.training.recipes import SHAPE
from bertlab.training.run_settings import PretrainSettings

if TYPE_CHECKING:
    from bertlab.cli.shared.material import PretrainingText
    from bertlab.training.batches import Documents
    from bertlab.training.engine.reproducibility import Conditions
    from bertlab.training.pretrain import Pretrained
    from bertlab.training.recipes import PretrainRecipe

# they change the result, some by rounding
IN_CARD = ("minutes", "half", "devices", "micro_batch", "precision", "teacher", "model", "set")
OVERRULED = {  # fields of the recipe that have no effect beside an option
    "store": ("vocab_size", "lowercase", "documents"),
    "text": ("documents",),
    "data": ("documents",),
    "vocab": ("vocab_size",),
    "teacher": ("vocab_size", "teacher"),
    "model": ("vocab_size", "model", "position_init", "attention_init", *SHAPE, *VARIANTS),
}


@dataclass(frozen=True)
class Pretrain:
    """Train a BERT from random weights, or go on with a trained one: masked words and next sentences.

    Learns from the small world that comes with bertlab, or from text files of yours. Writes a run folder that is itself
    a checkpoint: open it by its path in the explorer or in from_pretrained.
    """

    recipe: Positional[str] = ""
    """storyworld-tiny, storyworld-live, own-text (the default with --text or --store), bert-base (the paper's)
    or english-scratch (the default with --data). The last three need --text, --store or --data."""
    text: tuple[Path, ...] = ()
    """Text files (.txt, .md), or folders with their subfolders, to learn from, instead of the storyworld; or the word
    pydoc: the docstrings of Python and of the installed packages, over 10 MB of real English."""
    data: Path | None = None
    """The folder of the public English corpora to learn from: novels, Wikipedia, speech and writing; for
    english-scratch also fiction, more of Wikipedia and film reviews, kept as a token store beside the run folder."""
    store: Path | None = None
    """A token store to learn from, with its vocabulary: the folder that bertlab data tokenize made."""
    vocab: str | None = None
    """The vocabulary, instead of one learned from the text: a file (vocab.txt, tokenizer.json), or that of a model:
    a bundled name, a folder or a hub id."""
    teacher: str | None = None
    """Distil a trained BERT (a bundled name, a folder or a hub id) into a smaller student, with the teacher's
    vocabulary: --teacher MODEL --set num_hidden_layers=2."""
    model: str | None = None
    """Go on from a trained BERT (a bundled name, a folder or a hub id), with its shape and vocabulary, so that it
    learns the words of your field. It gets more positions with --set max_tokens=512 max_position_embeddings=512."""
    out: Path | None = None
    """The run folder; runs/RECIPE if not given."""
    steps: int | None = None
    """Number of steps, instead of the recipe's."""
    batch_size: int | None = None
    """Pairs of texts in a step, instead of the recipe's."""
    learning_rate: float | None = None
    """Top learning rate, instead of the recipe's (with --model what goes on gently: docs/pretraining.md)."""
    seed: int | None = None
    """Seed of weights, pairs and masks, instead of the recipe's."""
    set: Settings = ()
    """Any other field of the recipe, as FIELD=VALUE: second_task=none masking.rate=0.4 phases=0.9,128
    optim.optimizer=nadam ...; the fields are those of PretrainRecipe, in bertlab/training/recipes.py."""
    settings: Flat[PretrainSettings] = PretrainSettings()

    def run(self) -> None:
        """Train, measure on held-out text, write the card."""
        from bertlab.cli.shared.material import check_material, read_large_english, read_material
        from bertlab.evaluation.baselines import save_baselines
        from bertlab.training.engine.devices import Devices, check_processes
        from bertlab.training.pretrain import pretrain

        recipe = self._recipe()
        out = expanded(self.out or Path("runs") / recipe.name)
        check_material(self.text, self.data, self.store, large=recipe.corpus == "english-large")
        tokenizer = self._given_vocabulary(recipe)
        if tokenizer:
            recipe = replace(recipe, vocab_size=tokenizer.vocab_size, lowercase=tokenizer.lowercase)
        devices = Devices(self.settings.device, self.settings.devices)
        check_processes(devices, recipe.batch_size)
        devices.launch()
        if recipe.model and devices.is_first:
            say(length_of_rows(recipe))

        @cache
        def material() -> "PretrainingText":
            """Read the text, once nothing is left that can be refused without it."""
            if self.data and recipe.corpus == "english-large":
                given = self.vocab or recipe.teacher or recipe.model
                learned = str(recipe.vocab_size) + ("" if recipe.lowercase else "-cased")
                name = f"as-{Path(given).name}" if given else learned  # other runs learn from the store too
                return read_large_english(self.data, recipe, out.with_name(f"english-{name}"), tokenizer)
            return read_material(self.text, self.data, self.store)

        def begin(documents: "Documents", tokenizer: Tokenizer, conditions: "Conditions") -> None:
            say(conditions)
            baselines = material().baselines(documents, tokenizer, recipe)
            save_baselines(out, {one.name: {"loss": one.loss, "top1": one.top1} for one in baselines})
            say(f"to beat on held-out text, as loss and share right: {'; '.join(map(str, baselines))}")

        settings = replace(
            self.settings, on_start=begin, on_end=lambda result: self._measure(result, recipe, material(), out)
        )
        result = pretrain(recipe, lambda: material().known, settings=settings, tokenizer=tokenizer, out=out)
        if not devices.is_first:
            return
        if result.stopped:
            end_stopped(f"at {reached(result.rows)}")
        report_saved(out)

    def _measure(self, result: "Pretrained", recipe: "PretrainRecipe", material: "PretrainingText", out: Path) -> None:
        """Measure on held-out text, write the card and print the measures."""
        from bertlab.evaluation.card import write_card
        from bertlab.evaluation.held_out import Learned

        with measuring("held-out text"):
            measures = material.measure(result.model, result.tokenizer, Learned(recipe.second_task, recipe.max_tokens))
        line = command_line(f"pretrain {self._recipe_name()}", self, (*RECIPE_OPTIONS, *IN_CARD))
        free = not (self.text or self.store)
        write_card(out, recipe.name, material.about, asdict(recipe), measures, result.seconds, line, free)
        print_result(measures, as_json=False)

    def _given_vocabulary(self, recipe: "PretrainRecipe") -> Tokenizer | None:
        """Return the tokenizer of the store, of --vocab, of the teacher or of the model to go on from, if one is given.

        InputError: --set asks for another use of capitals.
        """
        from bertlab.inputs.store import TokenStore

        if self.store:
            return TokenStore.open(self.store).tokenizer
        vocabulary, lowercase = self.vocab or recipe.teacher or recipe.model, recipe.lowercase
        if not vocabulary:
            return None
        tokenizer = Tokenizer.from_pretrained(vocabulary, lowercase)
        if any(setting.startswith("lowercase=") for setting in all_settings(self)) and tokenizer.lowercase != lowercase:
            raise InputError(f"--set lowercase={lowercase}: {vocabulary} says lowercase={tokenizer.lowercase}")
        return tokenizer

    def _recipe_name(self) -> str:
        default = "own-text" if self.text or self.store else "english-scratch" if self.data else "storyworld-tiny"
        return self.recipe or default

    def _recipe(self) -> "PretrainRecipe":
        """The recipe that the options ask for. InputError if they contradict each other or miss the text."""
        from bertlab.training.recipes import gentle_optimization, pretrain_recipe

        recipe = pretrain_recipe(self._recipe_name())
        recipe = replace(recipe, teacher=self.teacher or "", model=self.model or "").with_model_shape()
        if self.model:
            recipe = replace(recipe, optim=gentle_optimization(recipe_from(recipe, self, RECIPE_OPTIONS)))
        recipe = recipe_from(recipe, self, RECIPE_OPTIONS).with_model_shape()
        changed = {setting.partition("=")[0] for setting in all_settings(self)}
        for option in (option for option in OVERRULED if getattr(self, option)):
            if overruled := changed.intersection(OVERRULED[option]):
                raise InputError(f"--set {min(overruled)}: has no effect beside --{option}; leave it out")
        if self.vocab and self.model:
            raise InputError("--vocab: has no effect beside --model, which has its own; leave it out")
        if self.vocab and self.store:
            raise InputError("--vocab: has no effect beside --store, which has its own; leave it out")
        check_above_zero(self.settings, ("minutes", "save_every", "keep", "devices", "micro_batch"))
        if recipe.documents == 0 and not (self.text or self.data or self.store):
            ways = "--text or --store, or with --data the folder of the public English corpora"
            raise InputError(f"the recipe {recipe.name} learns from text that you have: name it with {ways}")
        return recipe


def length_of_rows(recipe: "PretrainRecipe") -> str:
    """Return in words how long the rows of a run are that goes on from a model, and how they become longer."""
    length, most = recipe.max_tokens, BertConfig.from_pretrained(recipe.model).max_position_embeddings
    if length > most:
        return f"rows of {length} tokens: {recipe.model} reads {most}, so it gets {length - most} new positions"
    longer = f"; {recipe.model} reads up to {most}: --set max_tokens={most}" if length < most else ""
    return f"rows of {length} tokens{longer}"
