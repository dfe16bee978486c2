"""How labels mark names: one spelling for all, and the names that seqeval finds."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.schemes import as_bio, as_names, entity_spans, spelled, spelling_of
from tests.conftest import tries

READ = {
    "PER-B PER-I O LOC-B": "B-PER I-PER O B-LOC",
    "B_PER I_PER O B_LOC": "B-PER I-PER O B-LOC",
    "B:PER I:PER O": "B-PER I-PER O",
    "b-per i-per o": "B-per I-per O",
    "B I O B": "B-name I-name O B-name",
    "I I O I": "B-name I-name O B-name",
    "B M E S": "B-name I-name E-name S-name",
    "B-x I-x L-x U-y O": "B-x I-x E-x S-y O",
    "U-x O U-y": "S-x O S-y",
    "B-a_B I-a_B O": "B-a_B I-a_B O",
    "O I-a I-a O I-a": "O B-a I-a O B-a",  # IOB1
    "I-a B-a I-a I-b": "B-a B-a I-a B-b",  # IOB1: B- only between neighbours of one kind
    "B-a M-a E-a O S-b": "B-a I-a E-a O S-b",  # BMES
}
PLAIN = ["N V O S E M", "DET NOUN O", "NN-S VB-S O", "S E", "A-B C", "type-1 type-2", "PER PER O LOC", "O . `` -LRB- ,"]


@pytest.mark.parametrize("labels", READ)
def test_files_are_read_in_one_spelling(labels, tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("word\tO\n\n" + "".join(f"word\t{label}\n" for label in labels.split()))
    _, one = read_conll(path)
    assert one.labels == tuple(READ[labels].split())


@pytest.mark.parametrize("labels", PLAIN)
def test_plain_labels_stay_as_they_are(labels, tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("".join(f"word\t{label}\n" for label in labels.split()))
    assert spelling_of(labels.split()) is None
    assert [one.labels for one in read_conll(path)] == [tuple(labels.split())]


KINDS = st.sampled_from(["PER", "x_y", "creative-work"])
MARKED = st.tuples(st.sampled_from("BIES"), KINDS).map("-".join)
LABELS = st.lists(st.one_of(st.just("O"), MARKED), max_size=9)


@tries(200)
@given(LABELS)
def test_names_are_those_that_seqeval_finds(labels):
    """Broken sequences too: I- after O, E- alone ..."""
    assert as_names([labels]) == [labels]
    assert entity_spans(as_bio(labels)) == entity_spans(labels) == get_entities(labels)


@tries(200)
@given(st.lists(st.one_of(st.sampled_from(["O", "DET", "NN-S", ".", "B", "E-"]), MARKED), max_size=9))
def test_plain_labels_among_names_too(labels):
    with warnings.catch_warnings(action="ignore"):  # "seems not to be NE tag"
        assert entity_spans(labels) == get_entities(labels)


@tries(100)
@given(LABELS)
def test_other_spellings_mark_the_same_names(labels):
    for form in ("{1}-{0}", "{0}_{1}", "{1}_{0}"):
        other = [form.format(*label.split("-", 1)) if "-" in label else label for label in labels]
        if any(label[0] in "BI" for label in labels):
            spelling = spelling_of(other)
            assert [spelled(label, spelling) for label in other] == labels
