"""Notebook cells of the embeddings; a test runs every one.

`models` are pairs: what from_pretrained takes, and the name in the picture; the weights of "random weights" are drawn.
"""

from collections.abc import Sequence

from bertlab.model.mixing import Pooling
from bertlab.model.pooling import OwnPooling

Models = Sequence[tuple[str, str]]


def each(models: Models, pooling: Pooling | OwnPooling, limit: int) -> str:
    """Return the start of a loop over the models, which makes `vectors` of `texts`."""
    own = "from bertlab.model.pooling import OwnPooling\n\n" if isinstance(pooling, OwnPooling) else ""
    return f"""{own}pooling = {pooling!r}
for source, name in {list(models)!r}:
    model = BertModel.from_pretrained(source)
    model = random_control(model) if name == "random weights" else model
    vectors = text_vectors(model, Tokenizer.from_pretrained(source), texts, pooling, limit={limit})  # (L+1, N, H)"""


def projection(models: Models, texts: str, pooling: Pooling | OwnPooling, limit: int, layer: int, method: str) -> str:
    return f"""import altair as alt
from bertlab import BertModel, Tokenizer
from bertlab.draw.charts.projection import projection_scatter, projection_table
from bertlab.explain.ablation import random_control
from bertlab.explain.vectors import project, text_vectors

{texts}
panels = []
{each(models, pooling, limit)}
    layer = min({layer}, len(vectors) - 1)
    flat = project(vectors[layer], {method!r})
    table = projection_table(flat.points, labels, texts)
    panels.append(projection_scatter(table, flat.explained, name, f"layer {{layer}}"))
alt.hconcat(*panels)"""


def measures(models: Models, texts: str, pooling: Pooling | OwnPooling, limit: int, layer: int) -> str:
    return f"""import altair as alt
from bertlab import BertModel, Tokenizer
from bertlab.draw.charts.projection import layer_lines, measure_table
from bertlab.explain.ablation import random_control
from bertlab.explain.vectors import layer_measures, text_vectors

{texts}
measured = {{}}
{each(models, pooling, limit)}
    measured[name] = list(layer_measures(vectors, labels))
table = measure_table(measured)
drawn = [name for name in ("accuracy", "silhouette", "anisotropy") if table[name].notna().all()]
neighbours = next(iter(measured.values()))[0].neighbours
chances = {{"accuracy": neighbours and neighbours.chance}}
alt.hconcat(*(layer_lines(table, name, {layer}, chances.get(name)) for name in drawn))"""


def neighbours(
    models: Models,
    texts: str,
    pooling: Pooling | OwnPooling,
    limit: int,
    layer: int,
    index: int,
    count: int,
    yours: int,
) -> str:
    """`yours`: how many texts at the end are the visitor's own; they are no neighbours of others."""
    return f"""from bertlab import BertModel, Tokenizer
from bertlab.explain.ablation import random_control
from bertlab.explain.vectors import nearest, text_vectors

{texts}
print(labels[{index}], texts[{index}], sep=": ")
found = {{}}
{each(models, pooling, limit)}
    near = nearest(vectors[min({layer}, len(vectors) - 1)], {index}, {count + yours})
    near = [(labels[i], round(distance, 2), texts[i]) for i, distance in near if i < len(texts) - {yours}]
    found[name] = near[:{count}]
found"""


def bundled_texts(name: str, count: int) -> str:
    """`name` is a function of bertlab.corpora.storyworld."""
    return f"""from bertlab.corpora.storyworld import {name}

examples = list({name}(seed=0, count={count}, split="test"))
texts, labels = [e.text for e in examples], [e.label for e in examples]"""


def reviews(name: str) -> str:
    return f"""from bertlab.corpora.labelled.tabular import {name}

examples = {name}()
texts, labels = [e.text for e in examples], [e.label for e in examples]"""


def own_texts(texts: Sequence[str], labels: Sequence[str]) -> str:
    return f"texts = {list(texts)!r}\nlabels = {list(labels)!r}"


def file_texts(name: str, text_column: str, label_column: str | None, most: int, unlabelled: str) -> str:
    options = f"text_column={text_column!r}, "
    options += "labelled=False" if label_column is None else f"label_column={label_column!r}"
    label = repr(unlabelled) if label_column is None else "e.label"
    return f"""from itertools import islice
from bertlab.corpora.reading import Skipped
from bertlab.corpora.labelled.tabular import read_table

# Put {ascii(name)} beside this notebook.
examples = list(islice(read_table({name!r}, {options}, skipped=Skipped()), {most}))
texts, labels = [e.text for e in examples], [{label} for e in examples]"""


def with_yours(source: str, yours: Sequence[str], label: str) -> str:
    """Return the lines of `source`, and lines that append the visitor's own texts."""
    if not yours:
        return source
    return f"{source}\nyours = {list(yours)!r}\ntexts += yours\nlabels += [{label!r}] * len(yours)"
