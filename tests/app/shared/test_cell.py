"""A cell is written from the calls that it makes."""

from app.shared.page.exports import Cell, Name
from bertlab.corpora.labelled.tabular import film_reviews
from bertlab.corpora.storyworld import sentiment
from bertlab.draw.charts.masking import titled_panels
from bertlab.explain.words.guess import guess_words


def test_a_call_is_written_without_defaults_and_what_comes_late_by_name():
    cell = Cell()
    assert cell.call(guess_words, Name("model"), Name("tok"), "it's", "", 0, 5, 12) == (
        'guess_words(model, tok, "it\'s", limit=12)'
    )
    assert cell.call(sentiment, seed=0, count=3, split="test") == "sentiment(count=3, split='test')"
    assert cell.picture(titled_panels, {"a": Name("x.fill")}, "t").splitlines() == [
        "from bertlab.corpora.storyworld import sentiment",
        "from bertlab.draw.charts.masking import titled_panels",
        "from bertlab.explain.words.guess import guess_words",
        "",
        "titled_panels({'a': x.fill}, 't')",
    ]


def test_a_copy_goes_its_own_way():
    cell = Cell()
    cell.let("examples", cell.call(film_reviews))
    other = cell.copy()
    other.let("more", other.call(sentiment, count=1))
    assert cell.lines == ["examples = film_reviews()"] and len(cell.imports) == 1
