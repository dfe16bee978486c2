import pytest

from bertlab.corpora.documents import read_documents
from bertlab.corpora.markdown import blocks
from bertlab.corpora.sentences import Heading

GONE = {
    "fence": "```python\nprint('x')\n\nmore = 1\n```",
    "fence with tildes": "~~~\nIt is code.\n```\n~~~",
    "fence never closed": "```\nIt is code.\n\nAnd more.",
    "indented code": "    It is code.\n    And more.",
    "table": "| a | b |\n|---|---|\n| c | d |",
    "table without outer bars": "a | b\n--- | ---\nc | d\n",
    "comment": "<!-- It is\n\nhidden. -->",
    "script": "<script>\nlet x = 1;\n\n</script>",
    "html table": "<table>\n<tr><td>Cell.</td></tr>\n\n</table>",
    "tag": '<img src="a.png"\n     alt="none">',
    "rule": "* * *",
    "link definition": "[name]: https://a.b 'Title'",
    "image": "![A picture.](a.png)",
    "badge": "[![build](https://a.b/c.svg)](https://a.b)",
}


@pytest.mark.parametrize("kind", GONE)
def test_what_is_no_running_text_is_gone(kind):
    assert list(blocks(f"First.\n\n{GONE[kind]}")) == ["First."]
    if "closed" not in kind:
        assert list(blocks(f"First.\n\n{GONE[kind]}\n\nLast.")) == ["First.", "Last."]


PLAIN = {
    "link": ("See [the *manual*](https://a.b/c_(d) 'Title') now.", "See the manual now."),
    "reference": ("See [the manual][m] now[^1].", "See the manual now."),
    "address": ("See <https://a.b> or https://a.b/c now.", "See  or  now."),
    "address of a person": ("Write to Ann <ann@a.b>.", "Write to Ann ."),
    "html in code": ("The page `<a href='b'>` and `__init__.py` stay.", "The page <a href='b'> and __init__.py stay."),
    "stress": ("It is *one*, **two**, ***three***, _four_ and __five__.", "It is one, two, three, four and five."),
    "code": ("Call `f(x)` or ``a`b``.", "Call f(x) or a`b."),
    "no stress": ("2 * 3 * 4 and snake_case_name stay.", "2 * 3 * 4 and snake_case_name stay."),
    "escapes": (r"It is \*not\* stressed.", "It is *not* stressed."),
    "html": ("H<sub>2</sub>O &amp; &lt;more&gt;.", "H2O & <more>."),
    "comparison": ("If a < b and c > d.", "If a < b and c > d."),
    "quotation": ("> He said so.\n> Twice.", "He said so. Twice."),
    "struck out": ("It is ~~not~~ so.", "It is not so."),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_syntax_within_a_line_becomes_text(kind):
    markdown, text = PLAIN[kind]
    assert list(blocks(markdown)) == [text]


def test_headings_of_both_kinds_and_list_items():
    text = "---\ntitle: X\n---\n# One #\nText\nover lines.\n## `Two`\n- a.\n- [ ] b\n  more.\n1. c.\n\n"
    text += "Three\n=====\nd.\n\nFour\n---\n"
    parts = list(blocks(text))
    assert parts == ["One", "Text over lines.", "Two", "a.", "b more.", "c.", "Three", "d.", "Four"]
    assert [part for part in parts if isinstance(part, Heading)] == ["One", "Two", "Three", "Four"]


def test_a_rule_that_opens_a_file_without_front_matter_is_kept_apart():
    assert list(blocks("Text.\n\n---\n\nMore.\n\n---\n")) == ["Text.", "More."]


def test_headings_begin_documents(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("Before. And so.\n\n# One\n\nFirst. Second.\n\n## Empty\n\n# Two\n\n- Third.\n")
    assert [(d.title, d.sentences) for d in read_documents(path)] == [
        ("notes", ("Before.", "And so.")),
        ("notes: One", ("First.", "Second.")),
        ("notes: Two", ("Third.",)),
    ]
