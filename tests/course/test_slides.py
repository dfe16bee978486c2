"""Slides: what is on them follows a rule, each fits, and the file needs no network."""

import re

import pytest

from bertlab.cli.main import main
from bertlab.course.slides.cut import LINES, WIDGET, cut


def markdown(text: str, **metadata) -> dict:
    return {"cell_type": "markdown", "source": text, "metadata": metadata}


def code(text: str, *outputs: dict, **metadata) -> dict:
    return {"cell_type": "code", "source": text, "metadata": metadata, "outputs": list(outputs), "execution_count": 1}


def printed(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def shown(*cells: dict) -> list[tuple[str, str]]:
    return [(cell["metadata"]["slideshow"]["slide_type"], cell["source"]) for cell in cut(list(cells))]


def test_headings_begin_slides_and_exercises_are_left_out():
    cells = [
        markdown(
            "[Previous](a.ipynb) · [Course home](README.md)\n\n# Title\n\nA [chapter](01_a.ipynb).\n\n## One\n\nText."
        ),
        code("import torch"),
        markdown("Before.\n\n### Exercise 1: it (easy, 5 minutes)\n\nWrite it.\n\n- this"),
        code("def f():\n    raise NotImplementedError"),
        code("def f_solution():\n    return 1", jupyter={"source_hidden": True}),
        code("%solution f\n%my_bert f"),
        markdown("### A question\n\n$a_i$ and `$`"),
        code("f()"),
    ]
    kinds, texts = zip(*shown(*cells), strict=True)
    assert texts[:5] == ("# Title", "A chapter.", "## One", "Text.", "Before.")
    assert kinds == ("slide", "-", "slide", "-", "-", "subslide", "-", "-")
    assert "<math" in texts[6] and texts[6].endswith("and `$`") and texts[7] == "f()"


def test_what_does_not_fit_goes_on_below_or_without_its_code():
    paragraph = "word " * 100
    kinds = [kind for kind, _ in shown(markdown("\n\n".join(["# Title", *[paragraph] * 6])))]
    assert kinds[0] == "slide" and 1 <= kinds.count("subslide") <= 3
    first, long = code("import torch"), "\n".join(f"x = {n}" for n in range(40))
    assert shown(first, code(long, printed("done\n"))) == [("subslide", "")]
    assert shown(first, code("x = 1", printed("y\n" * LINES)))[0][1] == "x = 1"
    panel = {"output_type": "display_data", "data": {WIDGET: {}, "text/html": "Run this cell"}, "metadata": {}}
    assert shown(first, code("panel()", panel)) == []


def test_a_slide_type_in_the_metadata_is_kept():
    assert shown(markdown("Text.", slideshow={"slide_type": "fragment"})) == [("fragment", "Text.")]


def test_an_unknown_chapter_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["course", "slides", "77"])
    assert "no chapter '77'; there are 00_tour" in capsys.readouterr().err


@pytest.mark.browser
def test_a_chapter_in_a_browser(new_tab, tmp_path):
    main(["course", "slides", "4", "--out", str(tmp_path / "s.html")])
    tab, address = new_tab(), (tmp_path / "s.html").as_uri()
    tab.goto(address)
    tab.wait_for_function("window.Reveal && Reveal.isReady()")
    assert tab.outside == [address] and tab.broken == []
    assert tab.get_by_role("heading", name="Attention", exact=False).first.is_visible()
    heights = tab.evaluate("""() => Reveal.getSlides().map(slide => {
        const at = Reveal.getIndices(slide);
        Reveal.slide(at.h, at.v);
        const formula = slide.querySelector("math"), picture = slide.querySelector("img");
        const drawn = [formula, picture].every(part => !part || part.getBoundingClientRect().height > 20);
        return [slide.scrollHeight, slide.innerText.length > 0 || picture != null, drawn];
    })""")
    assert len(heights) > 30
    assert all(full and drawn for _, full, drawn in heights)
    assert sum(height > 700 for height, _, _ in heights) <= 2  # they scroll
    assert not re.search("Exercise 1:|NotImplementedError", tab.content().partition("<main>")[2])
