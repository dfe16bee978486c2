"""How labels of words mark names: BIO and its relatives (Ramshaw and Marcus 1995), in every spelling that files have.

What is read ends in one spelling: O, B-kind and I-kind, and for BIOES also E-kind and S-kind.
"""

import re
from collections.abc import Iterable, Sequence

OUTSIDE = "O"
MARKS = "BIMESLU"  # of BIO, IOB1, IO, BIOES, BMES and BILOU
SAME = {"M": "I", "L": "E", "U": "S"}  # BMES and BILOU call them so
UNNAMED = "name"  # the kind of names whose labels are B, I and O alone
PREFIX = re.compile(f"[{MARKS}]-")
ENTITY = re.compile(rf"{OUTSIDE}|{PREFIX.pattern}\S+")
USUAL = re.compile(rf"(?P<mark>[{MARKS}])-(?P<kind>\S+)")
OTHERS = (
    re.compile(rf"(?P<mark>(?i:[{MARKS}]))[-_:./|](?P<kind>\S+)"),  # B_PER, b-per
    re.compile(rf"(?P<kind>\S+)[-_:./|](?P<mark>(?i:[{MARKS}]))"),  # PER-B
    re.compile(rf"(?P<mark>(?i:[{MARKS}]))(?P<kind>)"),  # B
)
BRACKETS = re.compile(r"\(.+|\*\)+")  # (PER* and *) of CoNLL 2003 and 2012
Spelling = re.Pattern[str]


def spelling_of(labels: Iterable[str]) -> Spelling | None:
    """Return how labels mark names, told by all of them together; None where they are plain (DET)."""
    marked = {label for label in labels if label.upper() != OUTSIDE}
    for spelling in (USUAL, *OTHERS):
        found = [spelling.fullmatch(label) for label in marked]
        marks = {match["mark"].upper() for match in found if match}
        if all(found) and (marks & {"B", "I"} or (marks and spelling is USUAL)):
            return spelling
    return None


def spelled(label: str, spelling: Spelling = USUAL) -> str:
    """Return one label in the usual spelling: PER-B -> B-PER, B -> B-name, U-PER -> S-PER; any other stays."""
    if label.upper() == OUTSIDE:
        return OUTSIDE
    if (found := spelling.fullmatch(label)) is None:
        return label
    mark = found["mark"].upper()
    return f"{SAME.get(mark, mark)}-{found['kind'] or UNNAMED}"


def as_bio(labels: Sequence[str], spelling: Spelling = USUAL) -> tuple[str, ...]:
    """Return the labels of a sentence in the usual spelling, with B- where a name begins with I-, as in IOB1 and IO;
    BIO and BIOES stay."""
    labels = [spelled(label, spelling) for label in labels]
    before = [OUTSIDE, *labels]
    return tuple(
        f"B-{label[2:]}" if label[0] == "I" and previous not in (f"B-{label[2:]}", label) else label
        for previous, label in zip(before, labels, strict=False)
    )


def are_entities(labels: Iterable[str]) -> bool:
    """Return whether the labels mark names in the usual spelling, or none at all; False of plain ones."""
    return all(ENTITY.fullmatch(label) for label in labels)


def goes_on(labels: Sequence[str], word: int) -> bool:
    """Return whether the name of the word before goes on at this one."""
    before, label = labels[word - 1], labels[word]
    if are_entities((before, label)):
        return label[0] in "IE" and before != OUTSIDE
    return label == before != OUTSIDE


def as_names(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return labels as those of names in the usual spelling, whichever they have. Of plain ones, neighbours with the
    same label are one name, and O is none."""
    every = {label for labels in sentences for label in labels}
    spelling = spelling_of(every)
    if spelling or any(PREFIX.match(label) for label in every):
        return [[spelled(label, spelling or USUAL) for label in labels] for labels in sentences]
    return [[label if label == OUTSIDE else f"I-{label}" for label in labels] for labels in sentences]


def entity_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the names that labels in the usual spelling mark, as (kind, first word, last word).

    Broken sequences are read as conlleval does (CoNLL 2003), and seqeval in its default mode: a name begins with I- or
    E- too where none of that kind goes on. A plain label among others is a name of its own.
    """
    found, first, before, kind_before = [], 0, OUTSIDE, ""
    for word, label in enumerate([*labels, OUTSIDE]):
        mark, kind = label[0], label[1:].split("-", 1)[-1] or "_"
        other = kind != kind_before
        if before in "ES" or (before in "BI" and mark in "BSO") or (before not in "O." and other):
            found.append((kind_before, first, word - 1))
        if mark in "BS" or (before in "ESO" and mark in "EI") or (mark not in "O." and other):
            first = word
        before, kind_before = mark, kind
    return found
