"""`bertlab info`: what a model is; `bertlab info plan`: what its pretraining takes."""

from dataclasses import asdict, dataclass

from bertlab.cli.shared.messages import print_json
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError
from bertlab.inputs.masking import Masking
from bertlab.training.engine.precision import Precision


@dataclass(frozen=True)
class Info:
    """Show what a model is: shapes, parameters of each part, memory, tokenizer; of a folder that holds a vocabulary
    alone, the tokenizer. Loads no weights. `bertlab info plan` estimates what a pretraining takes."""

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


@dataclass(frozen=True)
class Plan:
    """Estimate what a pretraining takes before it starts: operations, memory and time. Without --gpus it is planned
    for this machine, whose speed is measured in some seconds."""

    model: Positional[str] = "base"
    """A size (tiny, mini, small, medium, base, large), a bundled model, a folder or a hub id."""
    gpus: str | None = None
    """How many of which GPU, such as 8xH100."""
    tokens: float = 131e9
    """Tokens of text, each pass over it counted (131e9: a million steps of 256 x 512, as the paper has it)."""
    batch_size: int = 256
    """Texts of a step, over all devices."""
    max_tokens: int = 128
    """Positions of a text."""
    micro_batch: int = 0
    """Texts that a device works on at a time; 0: all of its share."""
    gradient_checkpointing: bool = False
    """Recompute the inside of each layer instead of keeping it."""
    unpadded: bool = False
    """Keep padding out of the layers on a GPU too."""
    precision: Precision = "auto"
    """Number format of matrix products; auto: as bertlab pretrain chooses."""
    vocab_size: int | None = None
    """Size of the vocabulary; without it that of the model (30,522 of a size)."""
    fill: float = 1.0
    """Share of the positions that hold tokens; the others are padding."""
    masked: float = Masking.PAPER.rate
    """Share of the tokens that are to be predicted."""
    share: float | None = None
    """Share of the GPUs' peak rate that a step reaches."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.training.plan import Job, config_of, parse_gpus, plan_gpus, plan_here

        count, gpu = parse_gpus(self.gpus) if self.gpus is not None else (1, None)
        names = ("tokens", "batch_size", "max_tokens", "fill", "masked", "micro_batch")
        given = {name: getattr(self, name) for name in (*names, "gradient_checkpointing", "unpadded")}
        job = Job(config_of(self.model, self.vocab_size), devices=count, **given)
        if gpu is None and self.share is not None:
            raise InputError("--share is for --gpus: on this machine the time is measured")
        plan = plan_gpus(job, gpu, self.share, self.precision) if gpu else plan_here(job, self.precision)
        if self.json:
            print_json(plan.to_dict())
        else:
            from bertlab.draw.plans import print_plan

            print_plan(plan)
