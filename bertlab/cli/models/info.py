"""`bertlab info`: what a model is."""

from dataclasses import asdict, dataclass

from bertlab.cli.shared.messages import print_json
from bertlab.cli.shared.settings import Positional


@dataclass(frozen=True)
class Info:
    """Show what a model is: shapes, parameters of each part, memory, tokenizer; of a folder that holds a vocabulary
    alone, the tokenizer. Loads no weights."""

    model: Positional[str] = "storyworld-tiny"
    """A bundled name, a folder or a hub id (org/name, org/name@revision)."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.model.summary import model_facts, vocabulary_facts

        vocabulary = vocabulary_facts(self.model)
        facts = vocabulary or model_facts(self.model)
        if self.json:
            print_json({"tokenizer": asdict(facts)} if vocabulary else asdict(facts))
        else:
            from bertlab.draw.tables import print_facts

            print_facts(facts)
