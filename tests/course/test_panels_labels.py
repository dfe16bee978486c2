"""The panel of names: each tagger marks what it finds, an empty text is refused in words."""

from bertlab import Tokenizer
from bertlab.course.panels import names_panel

TEXT = "Rose Hill likes <b> roses. Lucky barks."


def capitals(words):
    """A tagger for tests: capitalised words are persons."""
    return ["B-person" if word[0].isupper() else "O" for word in words]


def nothing(words):
    return ["O"] * len(words)


def test_names_of_each_tagger_are_marked():
    tok = Tokenizer.train([TEXT] * 3, vocab_size=60)
    box = names_panel({"capitals & more": capitals, "none": nothing}, tok, TEXT)
    text, result = box.children
    assert result.value.count("<mark") == 3 and "<b> roses" not in result.value
    assert "capitals &amp; more" in result.value and "none" in result.value
    text.value = "no names here"
    assert result.value.count("<mark") == 0
    text.value = "   "
    assert "the text is empty" in result.value


def test_names_stand_in_without_a_kernel():
    tok = Tokenizer.train([TEXT] * 3, vocab_size=60)
    bundle = names_panel({"capitals": capitals}, tok, TEXT)._repr_mimebundle_()
    assert "<mark" in bundle["text/html"] and "0x" not in bundle["text/plain"]
