"""Two versions of a text side by side: what differs is marked, and what it changes is said."""

import pytest
from pages import fine, opened, said

from app.shared.text.versions import partners
from bertlab import BertModel, Tokenizer
from bertlab.draw.html.marked import changed_words, gapped_sentence
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.heads import strongest_link
from bertlab.explain.attention.maps import attention_maps
from tests.unstyled import unstyled

MARK = '<span class="mark" role="mark">'
TEXT, OTHER = "my [MASK] is hairy.", "my [MASK] is very tired."


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        ("a b c", "a x c", {0: 0, 1: 1, 2: 2}),  # x took the place of b
        ("a b c", "a b x c", {0: 0, 1: 1, 2: 3}),
        ("a b c", "a x y c", {0: 0, 2: 3}),  # two words for one: no partner
        ("a", "b c", {}),
    ],
)
def test_partners(one, other, pairs):
    assert partners(one.split(), other.split()) == pairs


def test_words_that_differ_are_marked_and_stay_text():
    shown = unstyled(changed_words("a <b> c", "a <i> d c"))
    assert f"a {MARK}&lt;b&gt;</span> c" in shown and f"a {MARK}&lt;i&gt;</span> {MARK}d</span> c" in shown


@pytest.mark.parametrize("show", ["", "control"])
def test_the_weight_that_changes_most_is_named(show, folders):
    link = {"two": "true", "other": TEXT.replace("hairy", "tired"), "show": show}
    app = opened("attention", folder=folders["pretrained"], text=TEXT, **link)
    assert fine(app), said(app)
    model, tok = (kind.from_pretrained(folders["pretrained"]) for kind in (BertModel, Tokenizer))
    layer, head = strongest_link(attention_maps(model, tok, TEXT))  # which the page opens with
    drawn = random_control(model) if show else model
    one, two = (attention_maps(drawn, tok, text) for text in (TEXT, link["other"]))
    here, there = one.weights[layer, head], two.weights[layer, head]  # (S, S)
    pairs = partners(one.tokens, two.tokens)
    i, j = max(((i, j) for i in pairs for j in pairs), key=lambda at: abs(there[pairs[at[0]], pairs[at[1]]] - here[at]))
    numbers = f"with {here[i, j]:.0%} in the first version, with {there[pairs[i], pairs[j]]:.0%} in the second"
    where = f"What changes most in layer {layer + 1}, head {head + 1}: "
    assert f"{where}**{one.tokens[i]}** attends" in said(app) and numbers in said(app)


@pytest.mark.parametrize(
    ("tab", "told"),
    [
        ("Opinion", "In the other version the class is **bad** (> 99%) instead of **good** (> 99%)."),
        ("Names", "In the other version: no word that both have changes its label."),
    ],
)
def test_labels_that_change_are_named(tab, told):
    salty = "Ruth Hill bought Lucky a cake in Ashford. It was salty."
    app = opened("tasks", model="storyworld-tiny", two="true", other=salty, tasks_tab=tab)
    assert fine(app) and told in said(app), said(app)


def test_an_example_opens_without_the_other_version_of_the_text_before(folders):
    app = opened("attention", folder=folders["pretrained"], text=TEXT, two="true", other=OTHER)
    app.pills(key="example_choice").set_value("no gap").run()
    assert fine(app) and "Both versions are the same so far." in said(app), said(app)
    assert app.text_input(key="other").value == app.text_area(key="text").value != TEXT


def test_a_view_of_one_version_says_so():
    link = {"text": TEXT, "two": "true", "other": OTHER, "model": "storyworld-tiny"}
    told = "This view reads the first version"
    assert told not in said(opened("attention", **link))
    assert told in said(opened("attention", **link, attention_tab="Switch heads off"))


def test_the_large_sentence_has_gaps_and_marks_what_the_other_lacks():
    shown = unstyled(gapped_sentence("a <b> [MASK].", "a <i> [MASK]."))
    assert f"{MARK}&lt;b&gt;</span>" in shown and shown.count(MARK) == 1
    assert "[MASK]" not in shown and shown.count('aria-label="hidden word"') == 1


def test_what_a_long_text_has_of_its_own_is_found_between_what_both_say():
    text = "word [MASK] " * 5000
    shown = unstyled(gapped_sentence(f"{text}here {text}", f"{text}there {text}"))
    assert shown.count(MARK) == 1 and f"{MARK}here</span>" in shown
    assert '"mark"' not in gapped_sentence(text, text)
    assert changed_words("a a b", "a b").count('role="mark"') == 1
