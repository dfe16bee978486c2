"""The explorer's sessions are threads that share models: each must get what it would get alone."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import is_dataclass

import pytest
import torch

from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.attribution import attribute_text, attribute_word
from bertlab.explain.labels import label_text, label_words
from bertlab.explain.spans import answer
from bertlab.explain.vectors import text_vectors
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.masking import sample_masking

WORDS = "the animal didn't cross the street because it was too tired and my dog likes long walks".split()
TEXTS = [" ".join([*WORDS[start:], "[MASK]."]) for start in range(0, len(WORDS) - 1, 3)]
EXPLAIN = {
    "attention_maps": ("model", lambda model, tok, text: attention_maps(model, tok, text, "he likes walks.")),
    "fill_mask": ("model", fill_mask),
    "sample_masking": ("model", lambda model, tok, text: sample_masking(model, tok, text, rate=0.5)),
    "text_vectors": ("model", lambda model, tok, text: text_vectors(model, tok, [text, "my dog"], "mean")),
    "answer": ("reader", lambda model, tok, text: answer(model, tok, "what did he buy?", text * 3)),
    "label_text": ("classifier", label_text),
    "label_words": ("tagger", label_words),
    "attribute_text": ("classifier", attribute_text),
    "attribute_word": ("tagger", lambda model, tok, text: attribute_word(model, tok, text, 1)),
}


def leaves(result):
    """The arrays, numbers and texts that a result is made of."""
    if is_dataclass(result):
        result = vars(result)
    if isinstance(result, dict):
        result = [part for pair in result.items() for part in pair]
    if isinstance(result, frozenset):
        result = sorted(result)
    if not isinstance(result, list | tuple):
        return [result.numpy() if isinstance(result, torch.Tensor) else result]
    return [leaf for part in result for leaf in leaves(part)]


@pytest.mark.parametrize("name", EXPLAIN)
def test_eight_threads_get_what_one_gets(name, tok, request):
    fixture, explain = EXPLAIN[name]
    model = request.getfixturevalue(fixture)
    alone = [explain(model, tok, text) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: explain(model, tok, text), TEXTS * 2))
    for ours, theirs in zip(leaves(together), leaves(alone * 2), strict=True):
        exact = isinstance(ours, str | None)
        assert ours == theirs if exact else ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)
