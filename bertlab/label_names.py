"""The names of a classifier's labels: id2label in config.json."""

from collections import Counter
from typing import Any

from bertlab.errors import InputError, brief

MOST_LABELS = 100_000
MOST_CHARACTERS = 1_000  # of a name


def label_names(names: Any) -> dict[int, str]:
    """Return id2label in order, with the numbers that JSON turned into strings as numbers again.

    InputError where the numbers are not 0, 1, 2, ... or two labels have one name.
    """
    try:
        pairs = sorted(((int(number), name) for number, name in names.items()), key=lambda pair: pair[0])
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"id2label must give each label's number its name, not {brief(names)}") from None
    if len(pairs) > MOST_LABELS:
        raise InputError(f"id2label names {len(pairs):,} labels; there may be {MOST_LABELS:,}")
    numbers = [number for number, _ in pairs]
    if not numbers or numbers != list(range(len(numbers))):
        found = ", ".join(map(str, numbers[:10])) or "be empty"
        raise InputError(f"id2label must number its labels from 0 on, not {found}")
    for number, name in pairs:
        _check_name(number, name)
    _check_repeats([str(name) for _, name in pairs])
    return {number: str(name) for number, name in pairs}


def _check_name(number: int, name: Any) -> None:
    if name is None or isinstance(name, dict | list) or len(str(name)) > MOST_CHARACTERS:
        wanted = f"a text of at most {MOST_CHARACTERS:,} characters"
        raise InputError(f"id2label: the name of label {number} must be {wanted}, not {brief(name)}")


def _check_repeats(names: list[str]) -> None:
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"id2label gives {count} labels the name {brief(name)}; each label needs its own")
