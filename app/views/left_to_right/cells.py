"""The notebook cell of this page; a test runs it."""

from collections.abc import Sequence


def sides(reader: str, bert: str, names: Sequence[str], texts: Sequence[str], k: int, limit: int) -> str:
    """`names`: those of the left-to-right model and of BERT in the picture."""
    return f"""from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.masking import side_panels
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.from_left import fill_from_left, only_here

sources = {reader!r}, {bert!r}
(reader, first), (bert, second) = (
    (BertForPreTraining.from_pretrained(source), Tokenizer.from_pretrained(source)) for source in sources
)
texts = {list(texts)!r}
left = [fill_from_left(reader, first, text, k={k}, limit={limit}) for text in texts]
both = [fill_mask(bert, second, text, k={k}, limit={limit})[0] for text in texts]
fills = dict(zip({list(names)!r}, (left, both), strict=True))
side_panels(fills, {{name: only_here(versions) for name, versions in fills.items()}})"""
