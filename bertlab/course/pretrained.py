"""The weights that part two fine-tunes: the reader's own, if chapter 08 saved them, else those of a bundled model."""

from dataclasses import fields
from pathlib import Path

from torch import nn

from bertlab.config import BertConfig
from bertlab.course.keep import model_folder
from bertlab.course.matching import load_matching
from bertlab.io.locate import locate
from bertlab.model import BertForPreTraining

BUNDLED = "storyworld-tiny"


def pretrained_folder() -> Path:
    """Return the folder of the reader's trained BERT, else of the bundled one, and print which."""
    own = model_folder()
    if (own / "config.json").exists():
        print(f"Weights: your own BERT, from {own.name}.")
        return own
    print(f"Weights: {BUNDLED}, until chapter 08 has saved yours.")
    return locate(BUNDLED)


def load_pretrained(cls: type[nn.Module], config_cls: type, folder: str | Path, *options: object) -> nn.Module:
    """Return `cls(config, *options)` in eval mode with the weights of a folder or bundled model, as far as it has their
    parts: a new head keeps the weights that it was made with. `config_cls` is the reader's Config."""
    library = BertForPreTraining.trained(folder, optional=("pooler", "nsp"))
    known = BertConfig.from_pretrained(folder)
    config = config_cls(**{field.name: getattr(known, field.name) for field in fields(config_cls)})
    model = cls(config, *options)
    whole = hasattr(model, "mlm")
    mine, theirs = (model, library) if whole else (getattr(model, "bert", model), library.bert)
    report = load_matching(mine, theirs)
    if not report.complete:
        raise ValueError(str(report))
    return model.eval()
