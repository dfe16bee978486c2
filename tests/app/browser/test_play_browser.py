"""The moving picture of one word in a real browser: it plays, stops, steps, and can do without motion."""

import pytest
from browsing import overflow, settle, show, unharmed

from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.draw.html.word import WORD, pack
from bertlab.explain.words.follow import follow_word

pytestmark = pytest.mark.browser
TEXT = "the animal didn't cross the street because the [MASK] was too tired."
MOUNT = """async ([module, bytes]) => {
  const { mount } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  document.body.innerHTML = "<div class=component></div>";
  window.sent = [];
  mount(document.body.firstChild, Uint8Array.from(bytes), {}, (view) => window.sent.push(view));
}"""
INK = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.filter(Boolean).length"


@pytest.fixture(scope="module")
def data() -> bytes:
    tok = Tokenizer.from_pretrained("storyworld-tiny")
    sizes: dict = dict(hidden_size=48, num_hidden_layers=12, num_attention_heads=12, intermediate_size=48)
    word = follow_word(BertForPreTraining(BertConfig(vocab_size=tok.vocab_size, **sizes)).eval(), tok, TEXT)
    return pack(word, control=word, links=[(f"page-{n}", "a page") for n in range(16)], choose=True)


@pytest.fixture
def picture(new_tab, data):
    def opened(**options):
        tab = new_tab(**options)
        tab.goto("about:blank")
        tab.evaluate(MOUNT, [WORD.module(""), list(data)])
        return tab

    return opened


def time(tab) -> float:
    return float(tab.get_by_role("slider").input_value())


def station(tab) -> str:
    return tab.get_by_role("slider").get_attribute("aria-valuetext")


def test_it_plays_stops_and_steps(picture):
    tab = picture()
    tab.wait_for_function("document.querySelector('[type=range]').value > 0.3")
    tab.get_by_role("button", name="Stop").click()
    stopped = time(tab)
    assert 0 < stopped < 16 and tab.get_by_role("button", name="Play").is_visible()
    tab.get_by_role("button", name="One station on").click()
    assert time(tab) == int(stopped - 1e-6) + 2  # at the end of the next station
    tab.get_by_role("slider").press("End")
    assert station(tab) == "Guess" and tab.locator(".found").inner_text() != "[MASK]"
    full = tab.locator("canvas").evaluate(INK)
    for key, place in (("ArrowLeft", "Logits"), ("ArrowLeft", "Layer 12"), ("Home", "Pieces")):
        tab.get_by_role("slider").press(key)
        assert station(tab) == place
    assert tab.locator("canvas").evaluate(INK) < full / 4
    tab.get_by_role("button", name="Play").click()
    tab.wait_for_function("document.querySelector('[type=range]').value > 1.2")
    unharmed_alone(tab)


def unharmed_alone(tab) -> None:
    assert tab.outside == [] and tab.broken == []


def test_without_motion_everything_is_there_at_once(picture):
    tab = picture(reduced_motion="reduce")
    assert station(tab) == "Guess" and tab.get_by_role("button", name="Play").is_visible()
    tab.get_by_role("button", name="Play").click()
    for _ in range(5):
        assert time(tab).is_integer()  # only whole stations
        tab.wait_for_timeout(50)
    unharmed_alone(tab)


def test_stations_say_their_numbers_and_words_can_be_pressed(picture):
    tab = picture(reduced_motion="reduce", has_touch=True)
    tab.get_by_role("button", name="Layer 3", exact=True).hover()
    assert tab.locator(".said").inner_text().startswith("Layer 3. At [MASK], 12 heads attend to all 17 tokens")
    assert tab.locator(".said a").get_attribute("href") == "page-4"
    tab.get_by_role("button", name="Layer 2", exact=True).tap()
    assert station(tab) == "Layer 2"
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".said").inner_text().startswith("Layer 3.")
    tab.locator("canvas").hover(position={"x": 110, "y": 60})
    assert "Layer 1, head" in tab.locator(".said").inner_text()
    tab.get_by_title("Mask “animal” and follow it").click()
    assert tab.evaluate("window.sent") == [{"follow": 2}]
    unharmed_alone(tab)


def test_in_the_explorer(new_tab, server):
    tab = new_tab(reduced_motion="reduce")
    tab.set_viewport_size({"width": 390, "height": 844})
    show(tab, server, "word", "?model=storyworld-tiny&text=my+dog+is+hairy.&mask=2")
    assert overflow(tab) == 0
    assert tab.locator(".word").evaluate("word => word.scrollWidth <= word.clientWidth + 1")
    assert tab.locator(".word canvas").bounding_box()["y"] < 844, "a picture on the first screen"
    tab.get_by_title("Mask “hairy” and follow it").click()
    tab.wait_for_url("**mask=4*")
    settle(tab)
    tab.get_by_role("button", name="Layer 2", exact=True).click()
    tab.locator(".said a").click()
    tab.locator(".matrix").wait_for()
    assert tab.get_by_label("Your text").input_value() == "my dog is hairy."
    assert "head=2-" in tab.url and "mask=4" in tab.url
    unharmed(tab)
