"""`bertlab compare`: models that differ in one thing, with the same text, steps and fine-tuning, and several seeds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError

TOYS = " These are toy models, and one task stands in for all: read the form, not the figures."


@dataclass(frozen=True)
class Compare:
    """Compare ways to pretrain, with intervals and tests.

    Writes OUT/TABLE.md (a table, and for each claim of a paper: holds, reversed, or cannot tell), TABLE.csv, TABLE.json
    (with the score of every example) and TABLE.png. Each training is kept in OUT: a comparison that was stopped goes
    on with the same command, and tables share the models that they have in common.
    """

    table: Positional[str]
    """relatives: BERT, GPT, ELMo, word2vec, a denoising autoencoder, ELECTRA; objectives: what of BERT's matters;
    masking: what stands where a word is asked for; size; steps: how long; features: which layers, frozen;
    pretraining-data: how much text, and which; later: what papers after BERT changed, for as many operations."""
    seeds: int = 3
    """Pretrain and fine-tune each model so many times."""
    quick: bool = False
    """Toy models, one task (names in a text) and a few steps: about three minutes on two free cores (`size`, the widest
    models, and `masking`, the most, take longer), to see how it works."""
    text: tuple[Path, ...] = ()
    """Pretrain on your own text (files or folders), and compare by questions on the fifth of it that is held out."""
    out: Path = Path("runs/compare")
    """The folder of all comparisons."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to train; auto takes a GPU if there is one."""

    def run(self) -> None:
        from bertlab.compare.laboratory import Laboratory
        from bertlab.compare.material import Material
        from bertlab.compare.report import Comparison, note_of
        from bertlab.compare.tables import FULL, QUICK, find_table
        from bertlab.training.engine.signals import exit_code

        if self.seeds < 1:
            raise InputError(f"--seeds {self.seeds}: give at least 1, and 3 for a verdict")
        if self.text and self.table == "pretraining-data":
            raise InputError("--text: the table pretraining-data compares texts of its own; leave it out")
        table, budget = find_table(self.table), QUICK if self.quick else FULL
        out = self.out.expanduser()
        laboratory = Laboratory(out, budget, Material(budget.recipe.documents, self.text), self.device)
        try:
            results = laboratory.run(table, range(self.seeds), say)
        except KeyboardInterrupt:
            say("stopped; the same command goes on with the trainings that are missing")
            raise SystemExit(exit_code()) from None
        text = "own text" if self.text else f"{budget.recipe.documents:,} documents of the storyworld"
        note = note_of(table, budget, self.seeds, text) + (TOYS if self.quick else "")
        name = f"{self.table}-quick" if self.quick else self.table
        comparison = Comparison(f"{name}-own-text" if self.text else name, table, results, note)
        comparison.write(out)
        print(comparison.markdown())
        say(f"saved to {out / comparison.name}.md, .csv, .json and .png")
