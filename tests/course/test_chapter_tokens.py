"""The tokenizer that the reader of the chapter on tokens builds, with the official vocabularies on whole corpora."""

from pathlib import Path

import pytest

from bertlab.course.solutions import tokenizer as solution
from bertlab.tokenizer import Tokenizer

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "bert_official").exists(), reason="vocabularies and corpora are not beside the clone (../shared/data)"
)


@needs_shared
@pytest.mark.parametrize(
    ("vocabulary", "corpus"),
    [("bert-base-uncased", "wikitext2/test.txt"), ("bert-base-chinese", "zh_cmrc2018/cmrc2018_trial.json")],
)
def test_official_vocabulary_id_for_id(vocabulary, corpus):
    if not (SHARED / corpus).exists():
        pytest.skip(f"{corpus} is not beside the clone")
    folder = SHARED / "bert_official" / vocabulary
    mine, theirs = solution.Tokenizer.from_file(folder / "vocab.txt"), Tokenizer.from_pretrained(folder)
    assert mine.vocabulary == theirs.vocab
    words = sorted(set((SHARED / corpus).read_text(encoding="utf-8").split()))[:20_000]
    ids = [mine.ids(word) for word in words]
    assert ids == [encoding.ids for encoding in theirs.encodings(words)]
    assert len(words) > 1000 and sum(map(len, ids)) > len(words)
