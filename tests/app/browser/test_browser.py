"""The explorer in a real browser: nothing leaves this machine, and what is clicked changes."""

import itertools
import re
from pathlib import Path

import pytest
from browsing import MAIN, open_it, overflow, settle, show, unharmed

from benchmarks.explorer.browser import PAGES
from bertlab import BertConfig, BertForQuestionAnswering, Tokenizer

pytestmark = pytest.mark.browser
BAR = ".st-key-model-bar"
TINY = "?model=storyworld-tiny&"
WIDE = [
    ("attention", "attention_tab=Is+it+an+explanation%3F"),
    ("tasks", "tasks_tab=Answers&spans_tab=Starts+and+ends"),
    ("tasks", "tasks_tab=Next+sentence"),
    ("training", "training_tab=Pretraining%27s+draw"),
]


@pytest.mark.parametrize("page", PAGES)
def test_page_asks_nobody_and_fits_a_phone(tab, server, page):
    show(tab, server, page)
    unharmed(tab)
    tab.set_viewport_size({"width": 390, "height": 900})
    settle(tab)
    assert overflow(tab) == 0


def test_pages_and_model_stand_beside_each_other_in_the_header(tab, server):
    show(tab, server, "tasks", TINY)
    for width in (1280, 800, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        settle(tab)
        assert_in_one_line(tab, width)


def assert_in_one_line(tab, width):
    pages = "[data-testid=stExpandSidebarButton]" if width == 390 else "[data-testid=stTopNav]"
    parts = (
        pages,
        ".st-key-model-bar [data-testid=stCaptionContainer] p",
        ".st-key-bar [data-testid=stPopover]",
        ".st-key-present",
    )
    shown = [part for part in map(tab.locator, parts) if part.is_visible()]
    places = [part.bounding_box() for part in shown]
    assert len(places) == (3 if width == 390 else 4)
    for left, right in itertools.pairwise(places):
        assert left["x"] + left["width"] <= right["x"] + 1, places
    assert all(place["y"] + place["height"] <= 60 for place in places), places


def test_the_dialog_of_the_model_stays_open_and_changes_what_is_seen(tab, server):
    show(tab, server, "attention")
    tab.get_by_role("button", name="Change").click()
    tab.get_by_role("combobox", name="Bundled model").click()
    tab.get_by_role("option", name="storyworld-tiny", exact=True).click()
    tab.get_by_text("Model: storyworld-tiny").wait_for()
    settle(tab)
    tab.get_by_text("4 layers of 4 heads").wait_for()
    assert tab.locator(".thumb").count() == 16
    unharmed(tab)


def test_script_in_a_text_stays_text(tab, server):
    evil = "%3Cimg%20src%3Dx%20onerror%3D%22window.hit%3D1%22%3E%20%3Cscript%3Ewindow.hit%3D1%3C/script%3E"
    for page in ("play", "attention"):
        show(tab, server, page, f"?model=storyworld-tiny&text={evil}%20[MASK]")
        assert tab.evaluate("window.hit") is None
        unharmed(tab)
    show(tab, server, "tasks", f"?model=storyworld-tiny-qa&question=what%3F&text={evil}")
    assert tab.evaluate("window.hit") is None
    assert "<script>" in tab.locator(".passage").inner_text()
    unharmed(tab)
    show(tab, server, "tasks", f"?model=storyworld-tiny&text={evil}&tasks_tab=Names")
    assert tab.evaluate("window.hit") is None
    assert "<script>" in tab.locator(".passage").first.inner_text()
    unharmed(tab)


def test_ask_the_passage(tab, server):
    show(tab, server, "tasks", TINY + "tasks_tab=Answers")
    field = tab.get_by_label("Your passage")
    field.fill("the dog sleeps. the cat eats.")
    field.press("Enter")
    tab.get_by_text("Your passage needs a question of its own").wait_for()
    tab.get_by_label("Your question").fill("what does the cat?")
    tab.get_by_label("Your question").press("Enter")
    tab.locator(".passage", has_text="the cat eats.").wait_for()
    settle(tab)
    assert "text=" in tab.url
    unharmed(tab)


PASTED = """async () => {
  const [item] = await navigator.clipboard.read();
  const { width, height } = await createImageBitmap(await item.getType("image/png"));
  return [width, height];
}"""


def downloaded(tab, name: str) -> bytes:
    with tab.expect_download() as download:
        tab.get_by_role("button", name=name, exact=True).first.click()
    return download.value.path().read_bytes()


def test_a_table_is_downloaded_and_a_picture_downloaded_and_copied(tab, server):
    show(tab, server, "play")
    tab.get_by_role("button", name="Data and code").first.click()
    assert downloaded(tab, "CSV").startswith(b"text,rank")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Share").first.click()
    tab.get_by_role("button", name="Copy picture").first.click()
    tab.get_by_text("Take the PNG instead").wait_for()
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.get_by_role("button", name="Copy picture").first.click()
    tab.get_by_text("Copied.").wait_for()
    header = downloaded(tab, "PNG")[:24]
    assert header.startswith(b"\x89PNG")
    assert tab.evaluate(PASTED) == [int.from_bytes(header[16:20]), int.from_bytes(header[20:24])]
    unharmed(tab)


def test_an_html_file_shows_what_the_page_shows_without_a_server(tab, new_tab, server, tmp_path):
    show(tab, server, "tasks", "?model=english-sentiment&text=Not+<b>bad</b>+</script>at+all.")
    chart = tab.locator("[data-testid=stVegaLiteChart] svg").first
    chart.wait_for(state="attached")
    tab.get_by_role("button", name="Share").first.click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="HTML", exact=True).first.click()
    file = tmp_path / "opinion.html"
    download.value.save_as(file)
    alone = new_tab(offline=True)
    alone.goto(file.as_uri())
    alone.locator("#vis svg").wait_for()
    drawn = (picture.locator("text").all_text_contents() for picture in (chart, alone.locator("#vis svg")))
    # without the numbers of the axes, which follow the width
    seen, kept = ({text for text in texts if any(map(str.isalpha, text))} for texts in drawn)
    assert "script" in seen <= kept, (seen, kept)
    assert alone.title().startswith("text-label")
    unharmed(tab)


def test_what_nobody_typed_is_there_on_the_next_page(tab, server):
    show(tab, server, "play")
    text = tab.get_by_label("Your sentence").input_value()
    tab.get_by_role("link", name="Attention", exact=True).click()
    tab.locator(".matrix").wait_for()
    assert tab.get_by_label("Your text").input_value() == text != ""
    tab.get_by_role("link", name="Play").click()
    tab.locator(".large").wait_for()
    settle(tab)
    assert tab.get_by_label("Your sentence").input_value() == text
    unharmed(tab)


@pytest.mark.parametrize(("page", "link"), WIDE)
def test_no_view_is_wider_than_a_phone(tab, server, page, link):
    tab.set_viewport_size({"width": 390, "height": 900})
    show(tab, server, page, TINY + link)
    assert overflow(tab) == 0
    unharmed(tab)


def lightness(tab, selector: str, style: str) -> float:
    """Of the colour that an element has in the end, from 0 (black) to 1 (white)."""
    colour = tab.locator(selector).first.evaluate("(e, style) => getComputedStyle(e)[style]", style)
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def test_charts_and_heads_can_be_read_in_the_dark(new_tab, server):
    tab = new_tab(color_scheme="dark")
    show(tab, server, "play")
    paper = lightness(tab, "[data-testid=stApp]", "backgroundColor")
    assert paper < 0.2
    assert lightness(tab, "[data-testid=stVegaLiteChart] svg text", "fill") > paper + 0.4
    unharmed(tab)
    show(tab, server, "attention")
    assert lightness(tab, ".full h4", "color") > paper + 0.6
    assert lightness(tab, ".rows", "backgroundColor") == paper  # it lies over the cells that scroll
    unharmed(tab)


def test_stop_a_long_work_and_go_on(tab, server, large):
    tab.goto(f"{server}/tasks?folder={large}&tasks_tab=Answers&question=who%3F&text={'the+dog+' * 1400}")
    settle(tab)  # until then the model that opens without asking has a Stop button, too
    open_it(tab)
    main = tab.locator(MAIN)
    main.get_by_role("button", name="Stop").wait_for()
    assert tab.get_by_role("button", name="Stop").count() == 1  # Streamlit's own would leave an empty page
    main.get_by_role("button", name="Stop").click()
    said = main.get_by_text(re.compile("Stopped after [0-9]+ of"))
    said.wait_for()
    done, total = (int(number) for number in re.findall("[0-9]+", said.inner_text()))
    assert 0 < done < total
    tab.locator(".passage").wait_for(state="detached")  # nothing is answered before all is read
    main.get_by_role("button", name="Continue").click()  # to the end it goes on in the tests without a browser
    main.get_by_role("button", name="Stop").click()
    said.wait_for()
    again, _ = (int(number) for number in re.findall("[0-9]+", said.inner_text()))
    assert done <= again < total
    unharmed(tab)


@pytest.fixture
def large(tmp_path) -> Path:
    """A model that takes a while for a long passage."""
    tok = Tokenizer.from_pretrained("storyworld-tiny")
    shape = dict(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, max_position_embeddings=64)
    BertForQuestionAnswering(BertConfig(vocab_size=tok.vocab_size, **shape)).save_pretrained(tmp_path, tok)
    return tmp_path


def test_a_link_to_labels_opens_what_was_seen(tab, new_tab, server):
    show(tab, server, "tasks", "?model=storyworld-tiny&tasks_tab=Names&text=Rex+met+Ruth+in+Ashford.")
    assert tab.locator(".passage .mark").all_inner_texts() == ["Ruth\xa0person", "Ashford\xa0place"]
    tab.locator("[data-testid=stButtonGroup]").last.get_by_text("Ashford", exact=True).click()
    tab.get_by_text("The label of “Ashford” is B-place (it begins the name of a place)").wait_for()
    tab.wait_for_url("**word=4*")
    settle(tab)
    tab.get_by_role("button", name="Share").last.click()
    link = tab.locator("[data-testid=stCode]", has_text="http://").last.inner_text().strip()
    other = new_tab()
    other.goto(link)
    other.get_by_text("The label of “Ashford”").wait_for()
    settle(other)
    for part in (".passage .mark", ".passage span", "[data-testid=stTabs] [data-testid=stMarkdown] p"):
        assert other.locator(part).all_inner_texts() == tab.locator(part).all_inner_texts() != []
    unharmed(other)
