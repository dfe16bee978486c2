"""`bertlab push`: a model to the Hugging Face hub."""

from dataclasses import dataclass

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError


@dataclass(frozen=True)
class Push:
    """Upload a model with its tokenizer and its card (README.md) to the Hugging Face hub."""

    model: Positional[str]
    """A run folder, or another folder with a checkpoint."""
    name: Positional[str]
    """What it is called there: org/name. It is made if it does not exist."""
    private: bool = False
    """Show it to you and your organisation alone."""

    def run(self) -> None:
        from bertlab.io.gate import present
        from bertlab.io.hub import upload
        from bertlab.io.locate import locate
        from bertlab.model.summary import from_hub, model_facts

        if from_hub(self.model):
            raise InputError(f"{self.model}: there is no such folder here; push one that holds a model")
        model_facts(self.model)  # a folder that is no whole checkpoint stays here
        folder = locate(self.model)
        if not present(folder / "README.md"):
            say(f"{folder} has no README.md, so the model will have no card")
        print(upload(folder, self.name, self.private))
