"""`bertlab card`: add the sections that its maker writes to the model card of a run."""

from dataclasses import dataclass
from pathlib import Path

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional


@dataclass(frozen=True)
class Card:
    """Add your sections of a model card (Mitchell et al. 2019) to the card that a run wrote. None of the nine may be
    empty."""

    run_folder: Positional[Path]
    """The folder of a finished run."""
    words: Path = Path("card.md")
    """Your sections, as bertlab new lays them out: ## Model details, ## Intended use, and seven more."""

    def run(self) -> None:
        from bertlab.evaluation.card_sections import add_sections

        add_sections(self.run_folder, self.words)
        say(f"wrote {self.run_folder / 'README.md'}")
