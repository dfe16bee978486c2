"""Unigram and two-sided bigram against counting by hand; every run starts by saying what they reach."""

import json
import math

import pytest
import torch

from bertlab import Tokenizer
from bertlab.cli.main import main
from bertlab.cli.shared.material import read_material
from bertlab.corpora import storyworld
from bertlab.evaluation import held_out as evaluate
from bertlab.evaluation.baselines import NeighbourBaselines, masked_baselines
from bertlab.inputs.store_writing import write_store
from bertlab.training.batches import token_ids
from bertlab.training.recipes import PRETRAIN

V, SPECIAL = 7, (0, 1)  # [PAD], [MASK] and five words
CORPUS = [[[2, 3, 4], [2, 3, 5]], [[3, 3, 2]], [[6]]]  # documents of sentences
STREAMS = [[2, 3, 4, 2, 3, 5], [3, 3, 2], [6]]  # neighbours do not cross documents


@pytest.fixture
def baselines():
    return NeighbourBaselines(CORPUS, V, SPECIAL)


def unigram(w):
    counts = [sum(s.count(v) for s in STREAMS) + 0.01 for v in range(V)]
    return counts[w] / sum(counts)


def given(context, w, offset):
    """p(w | its neighbour at -offset is `context`), one count spread over the words as the unigram is."""
    if context in SPECIAL:
        return unigram(w)
    pairs = [(s[i - offset], s[i]) for s in STREAMS for i in range(len(s)) if 0 <= i - offset < len(s)]
    total = sum(c == context for c, _ in pairs)
    return (pairs.count((context, w)) + unigram(w)) / (total + 1)


def bigram(before, after):
    scores = [given(before, w, 1) * given(after, w, -1) / unigram(w) for w in range(V)]
    return [score / sum(scores) for score in scores]


def test_unigram(baselines):
    logs = baselines.unigram.log().expand(3, -1)
    assert logs.shape == (3, V)
    for row in logs.exp().tolist():
        assert row == pytest.approx([unigram(w) for w in range(V)], rel=1e-5)


def test_bigram_equals_counting(baselines):
    contexts = [(before, after) for before in range(V) for after in range(V)]
    before, after = torch.tensor(contexts).T
    logs = baselines.bigram_log_probabilities(before, after)
    for row, context in zip(logs.exp().tolist(), contexts, strict=True):
        assert row == pytest.approx(bigram(*context), rel=1e-4)


def test_special_tokens_in_the_counted_text_tell_nothing_either():
    """[UNK] stands in real text: as a neighbour it is as dumb as [MASK]."""
    baselines = NeighbourBaselines([[[1, 2, 1, 2, 1, 3]]], V, SPECIAL)
    gap = torch.tensor([1])
    torch.testing.assert_close(baselines.bigram_log_probabilities(gap, gap), baselines.unigram.log()[None])


def test_special_tokens_are_never_guessed():
    """[UNK] is never asked for: a baseline that guesses it would be none."""
    baselines = NeighbourBaselines([[[2, 1, 2, 1, 2, 3, 1]]], V, SPECIAL)
    assert baselines.unigram.argmax() == 2 and baselines.unknown == pytest.approx(3 / 7)
    two = torch.tensor([2])
    assert float(baselines.bigram_log_probabilities(two, two).exp()[0, 1]) < 0.01


def test_both_sides_help():
    """In "2 x 4" only x = 3 fits both neighbours."""
    documents = [[[2, 3, 4]], [[2, 5, 6]], [[6, 5, 4]]] * 20
    baselines = NeighbourBaselines(documents, V, SPECIAL)
    both = baselines.bigram_log_probabilities(torch.tensor([2]), torch.tensor([4])).exp()[0]
    assert int(both.argmax()) == 3
    assert math.isclose(float(both[3] + both[5]), 1, abs_tol=0.1)


# With every run


@pytest.fixture
def text(tmp_path, monkeypatch):
    """A file of 40 documents, in the folder where the run takes place."""
    monkeypatch.chdir(tmp_path)
    documents = (" ".join(document.sentences) for document in storyworld.documents(0, 40))
    (tmp_path / "story.txt").write_text("\n\n".join(f"CHAPTER {n}\n\n{d}" for n, d in enumerate(documents, 1)))
    return tmp_path


RUN = ("--steps", "2", "--batch-size", "4", "--out", "run", "--device", "cpu")


def written(folder):
    return {one["name"]: (one["loss"], one["top1"]) for one in json.loads((folder / "baselines.json").read_text())}


@pytest.mark.parametrize("source", ["--text", "--store"])
def test_a_run_says_at_its_start_what_is_to_beat(source, text, tok, capsys, monkeypatch):
    """The baselines are those of its held-out text, hidden as it hides text to learn from; counted once."""
    if source == "--store":
        write_store("store", [d.sentences for d in storyworld.documents(0, 40)], tok, progress=False)
    counted, count = [], NeighbourBaselines.__init__
    monkeypatch.setattr(NeighbourBaselines, "__init__", lambda *given: counted.append(1) or count(*given))
    main(["pretrain", source, {"--text": "story.txt", "--store": "store"}[source], *RUN])
    said = capsys.readouterr().err
    found = written(text / "run")
    assert said.index(f"two neighbours {found['two neighbours'][0]:.2f}") < said.index("step") and len(counted) == 1

    tokenizer = Tokenizer.from_pretrained(text / "run")
    material = read_material(*([[text / "story.txt"], None] if source == "--text" else [[], None, text / "store"]))
    known, new = material.known, material.new[""]
    if source == "--text":
        known, new = token_ids(known, tokenizer), token_ids(new, tokenizer)
    counts = NeighbourBaselines(known, tokenizer.vocab_size, tokenizer.all_special_ids)
    baselines = masked_baselines(new, tokenizer, counts, PRETRAIN["own-text"].masking, pairs=500)
    assert found == {baseline.name: pytest.approx((baseline.loss, baseline.top1)) for baseline in baselines}
    assert found["uniform: ln V"][0] == pytest.approx(math.log(tokenizer.vocab_size))


def test_unknown_words_and_documents_that_stand_there_twice_are_warned_of(tok, tmp_path, capsys):
    once = [" ".join(d.sentences) + " Она спала дома." * 150 for d in storyworld.documents(0, 21)]
    (tmp_path / "twice.txt").write_text("\n\n".join(once + once))
    material = read_material([tmp_path / "twice.txt"], None)
    assert "Note: 3 of the 3 held-out documents stand in the text to learn from too" in material.about
    material.baselines(token_ids(material.known, tok), tok, PRETRAIN["own-text"])
    said = capsys.readouterr().err
    assert "3 of the 3 held-out" in said and "% of the tokens are unknown to the vocabulary ([UNK])" in said


def test_a_run_that_is_stopped_has_them_too(text, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bertlab.training.run.train", stopped)
    with pytest.raises(SystemExit, match="130"):
        main(["pretrain", "--text", "story.txt", *RUN])
    assert len(written(text / "run")) == 3


def test_of_a_store_of_long_documents_a_part_is_counted(tmp_path, tok, monkeypatch):
    store = write_store(tmp_path / "s", [d.sentences for d in storyworld.documents(0, 60)], tok, progress=False)
    whole = evaluate.count_neighbours(store, tok)
    assert whole.after.nnz == NeighbourBaselines(store, tok.vocab_size, tok.all_special_ids).after.nnz
    monkeypatch.setattr(evaluate, "COUNTED_TOKENS", store.header.tokens // 3)
    part = evaluate.count_neighbours(store, tok)
    expected = NeighbourBaselines(store[::3], tok.vocab_size, tok.all_special_ids)
    torch.testing.assert_close(part.unigram, expected.unigram)
