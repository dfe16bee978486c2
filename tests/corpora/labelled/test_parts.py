"""Parts of labelled examples that share no text."""

from hypothesis import given
from hypothesis import strategies as st

from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.parts import keep_apart, shared_text

TEXTS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=40)


@given(TEXTS, st.integers(1, 5), st.integers(0, 3))
def test_every_example_is_in_one_part_and_no_text_in_two(texts, each, seed):
    examples = [TextExample(str(n), text, str(n), "yes") for n, text in enumerate(texts)]
    others, chosen = keep_apart(examples, each, seed)
    assert sorted(others + chosen, key=examples.index) == examples
    assert others == sorted(others, key=examples.index) and chosen == sorted(chosen, key=examples.index)
    assert not {e.text for e in others} & {e.text for e in chosen}
    assert len({e.text for e in chosen}) == len(set(texts)) // each
    assert keep_apart(examples, each, seed) == (others, chosen)


def test_what_examples_of_each_family_may_share():
    assert shared_text(TextExample("1", "A man eats.", "He sleeps.", "no")) == "A man eats."
    assert shared_text(TokenExample("1", ("Ruth", "sings"), ("B-person", "O"))) == "Ruth sings"
    assert shared_text(ChoiceExample("1", "It rained.", ("So", "But"), 0)) == "It rained."
    assert shared_text(QAExample("1", "Who?", "Ruth sings.", "Ruth", 0)) == "Ruth sings."
