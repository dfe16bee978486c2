"""What the book adds to a chapter for a reader who wants to run it."""

import html

from web.stage import colab, panel_query, parsed, run_it, strings


def test_colab_is_offered_where_github_has_the_repository():
    offer = html.unescape(colab("04_attention.ipynb", "https://github.com/you/bertlab"))
    assert "https://colab.research.google.com/github/you/bertlab/blob/main/notebooks/04_attention.ipynb" in offer
    assert '%pip install -q "bertlab[course] @ git+https://github.com/you/bertlab"' in offer


def test_without_such_an_address_there_is_nothing_about_colab():
    assert colab("04_attention.ipynb", "") == colab("04_attention.ipynb", "https://example.org/you/bertlab") == ""
    assert 'href="04_attention.ipynb" download' in run_it("04_attention.ipynb")


def test_a_panels_text_is_found_where_it_was_named():
    named = strings(parsed('%matplotlib inline\nSTART = "It was too"\nTEXT = f"{START} [MASK]."'), {})
    cells = {
        "fill_panel(model, tok, TEXT)": {"text": "It was too [MASK]."},
        'spans_panel(model, tok, "What was it?", TEXT)': {
            "task": "answers",
            "ask": "What was it?",
            "read": "It was too [MASK].",
        },
        "names_panel(taggers, tok, TEXT)": {"task": "names", "read": "It was too [MASK]."},
        'search_panel(units, "how do I fill in")': {},  # the live page cannot search
        'spans_panel(model, tok, "What was it?", other)': {},
        "plan_panel()": {},
    }
    assert {cell: panel_query(parsed(cell), named) for cell in cells} == cells
