"""Notebook cells of the [CLS] embeddings; a test runs every one."""


def projection(model: str, source: str, layer: int) -> str:
    return f"""from bertlab import BertModel, Tokenizer
from bertlab.draw.charts import projection_scatter, projection_table
from bertlab.explain.projection import cls_vectors, neighbour_accuracy, project

model = BertModel.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
{source}
vectors = cls_vectors(model, tok, texts)  # (L+1, N, H)
flat = project(vectors[{layer}])
print(neighbour_accuracy(vectors[{layer}], labels))
projection_scatter(projection_table(flat.points, labels, texts), flat.explained)"""


def storyworld_source(count: int) -> str:
    return f"""from bertlab.corpora.storyworld import labelled_sentences

sentences = list(labelled_sentences(seed=0, count={count}, split="test"))
texts, labels = [s.text for s in sentences], [s.label for s in sentences]"""


def own_source(texts: list[str], labels: list[str]) -> str:
    return f"texts = {texts!r}\nlabels = {labels!r}"
