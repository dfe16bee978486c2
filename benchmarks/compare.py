"""Make the comparisons that chapter 15 reads (bertlab/compare/results), and their pages in docs.

    python benchmarks/compare.py                                  # all tables in full: hours
    python benchmarks/compare.py objectives masking --seeds 5
    python benchmarks/compare.py features --quick                 # toy models, some minutes

Each table is `bertlab compare TABLE`, which keeps its trainings in `--out`, so that a call that was stopped goes on
with the same command. A new comparison takes the place of the saved one; one of toy models has no page in docs.
"""

import argparse
from pathlib import Path
from shutil import copy

from bertlab.cli.compare import Compare
from bertlab.compare.saved import save
from bertlab.compare.tables import TABLES
from bertlab.course.pictures import reduced

PAGES = Path(__file__).parents[1] / "docs" / "comparisons"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=[*TABLES], choices=[*TABLES], metavar="TABLE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("runs/compare"))
    options = parser.parse_args()
    for table in options.tables:
        Compare(table, seeds=options.seeds, quick=options.quick, out=options.out).run()
        save(table, (options.out / f"{table}{'-quick' * options.quick}.json").read_text(encoding="utf-8"))
        if not options.quick:
            for ending in ("md", "csv"):
                copy(options.out / f"{table}.{ending}", PAGES)
            (PAGES / f"{table}.png").write_bytes(reduced((options.out / f"{table}.png").read_bytes()))


if __name__ == "__main__":
    main()
