"""Notebook cells of the answer spans; a test runs every one."""


def answer(model: str, question: str, passage: str) -> str:
    return f"""from bertlab import BertForQuestionAnswering, Tokenizer
from bertlab.draw.charts import span_heatmap
from bertlab.explain.spans import answer

model = BertForQuestionAnswering.from_pretrained({model!r})
tok = Tokenizer.from_pretrained({model!r})
found = answer(model, tok, {question!r}, {passage!r})
print(found.best.text or "no answer", f"{{found.best.probability:.2f}}")
span_heatmap(found, range(*found.passage_slice))"""
