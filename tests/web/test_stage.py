"""What the book adds to a chapter for a reader who wants to run it."""

import html

from web.stage import colab, run_it


def test_colab_is_offered_where_github_has_the_repository():
    offer = html.unescape(colab("04_attention.ipynb", "https://github.com/you/bertlab"))
    assert "https://colab.research.google.com/github/you/bertlab/blob/main/notebooks/04_attention.ipynb" in offer
    assert '%pip install -q "bertlab[course] @ git+https://github.com/you/bertlab"' in offer


def test_without_such_an_address_there_is_nothing_about_colab():
    assert colab("04_attention.ipynb", "") == colab("04_attention.ipynb", "https://example.org/you/bertlab") == ""
    assert 'href="04_attention.ipynb" download' in run_it("04_attention.ipynb")
