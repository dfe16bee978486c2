"""How the pages say that an answer is weak: one wording for spans, labels and masked words."""

from app.shared.page.markdown import plain
from bertlab.draw.percent import percent

# Below these probabilities the best one is called a guess. An answer or a word for a gap is then more likely wrong than
# right; of two classes the other one has at least half as much.
ANSWER, LABEL, GAP = 1 / 2, 2 / 3, 1 / 2
FAINT = 1 / 5  # below this a first word for a gap is one of many
# Of a word with a capital letter inside an English sentence, a model that reads no capitals must be so sure that it is
# no name: those with less mostly are one (benchmarks/explorer/real_text.py --thresholds).
NO_NAME = 0.99


def doubt(ranked: list[tuple[str, float]], least: float, wrong: float = 0) -> str:
    """Say for Markdown that the first of `ranked`, each with its probability, has less than `least`, or was right less
    often when as probable: `wrong` is the measured share of wrong ones. "" if neither."""
    (_, p), *_ = ranked
    if p >= least and wrong <= 1 - least:
        return ""
    named = [f"{percent(share)} for “{plain(name)}”" for name, share in ranked[:2]]
    rule = (
        f"Below {percent(least)}"
        if p < least
        else f"As {percent(wrong)} of the test texts with as much probability were wrong"
    )
    return f"**Not sure**: {', then '.join(named)}. {rule}, the page calls it a guess."
