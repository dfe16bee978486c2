"""Play in a real browser: guess, swap, own sentences; the moving picture plays, stops and steps."""

from urllib.parse import quote_plus

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


def test_enter_applies_a_guess_and_one_press_swaps_the_sentence(tab, server):
    tab.set_viewport_size({"width": 1280, "height": 720})
    show(tab, server, "play")
    for chart in tab.locator("[data-testid=stVegaLiteChart]").all():
        box = chart.bounding_box()
        assert box["y"] + box["height"] < 720, "both answers on the first screen"
    tab.get_by_label("Your guess").fill("they")
    tab.keyboard.press("Enter")
    tab.get_by_text("Your guess they (pink)").first.wait_for()
    tab.get_by_role("radio", name="soldier", exact=True).click()
    tab.locator(".large .mark", has_text="soldier").wait_for()
    tab.wait_for_url("**version=2*")
    assert "guess=they" in tab.url
    unharmed(tab)


def test_enter_applies_a_sentence_and_it_goes_along(tab, server):
    show(tab, server, "play", "?play_view=Left+to+right%2C+or+both+sides%3F")
    field = tab.get_by_label("Your sentence")
    field.fill("*a* [MASK] <b>b</b> ~~c~~")
    field.press("Enter")
    tab.wait_for_url("**text=*")
    settle(tab)
    assert tab.locator(".large").inner_text() == "*a*  <b>b</b> ~~c~~"
    assert tab.get_by_label("Another version").input_value() == ""
    tab.get_by_role("link", name="Where does each head look?").click()
    tab.locator(".matrix").wait_for()
    settle(tab)
    assert tab.get_by_label("Your text").input_value() == "*a* [MASK] <b>b</b> ~~c~~"
    tab.get_by_label("Your text").fill("one\ntwo [MASK]")
    tab.get_by_label("Your text").press("Enter")
    settle(tab)
    tab.get_by_role("link", name="Play").click()
    tab.locator(".large").wait_for()
    settle(tab)
    assert tab.get_by_label("Your sentence").input_value() == "one\ntwo [MASK]"
    tab.get_by_label("Your sentence").fill("one [MASK]")
    tab.get_by_label("Your sentence").press("Enter")
    tab.locator("input[aria-label^='Your sentence']").wait_for()  # of one line again
    settle(tab)
    assert tab.get_by_label("Your sentence").input_value() == "one [MASK]"
    unharmed(tab)


def test_real_english_shows_what_the_left_alone_cannot_see(tab, server):
    tab.set_viewport_size({"width": 390, "height": 844})
    show(tab, server, "play", "?model=storyworld-tiny&play_view=Left+to+right%2C+or+both+sides%3F")
    tab.get_by_role("button", name="Use english: walked in").click()
    tab.get_by_text("From the left alone, all guesses are exactly the same").wait_for()
    tab.locator("del", has_text="began to read.").wait_for()
    assert overflow(tab) == 0
    unharmed(tab)


def test_the_film_in_the_explorer(new_tab, server):
    tab = new_tab(reduced_motion="reduce")
    tab.set_viewport_size({"width": 390, "height": 844})
    show(tab, server, "play", "?model=storyworld-tiny&text=my+dog+is+hairy.&mask=2&play_view=Through+the+layers")
    assert overflow(tab) == 0
    assert tab.locator(".word").evaluate("word => word.scrollWidth <= word.clientWidth + 1")
    tab.get_by_title("Mask “hairy” and follow it").click()
    tab.wait_for_url(lambda address: "mask" not in address)  # the last word is hidden anyway
    settle(tab)
    tab.get_by_role("button", name="Layer 2", exact=True).click()
    tab.locator(".said a").click()
    tab.locator(".matrix").wait_for()
    settle(tab)
    assert tab.get_by_label("Your text").input_value() == "my dog is [MASK]."
    assert "head=2-" in tab.url
    unharmed(tab)


def test_every_view_behind_it_fits_a_phone_and_is_in_the_link(tab, server):
    tab.set_viewport_size({"width": 390, "height": 844})
    show(tab, server, "play", "?model=storyworld-tiny&text=my+dog+is+[MASK].+he+likes+walks.")
    for name in ("Layer by layer", "Why this word?", "Whole text"):
        tab.get_by_role("radio", name=name).click()
        tab.wait_for_url(f"**play_view={quote_plus(name)}*")
        settle(tab)
        tab.locator(
            ".st-key-behind :is([data-testid=stVegaLiteChart], [data-testid=stExpander]):visible"
        ).first.wait_for()
        assert overflow(tab) == 0
        unharmed(tab)
    show(tab, server, "play", "?" + tab.url.split("?")[1])
    assert tab.get_by_role("radio", name=name).get_attribute("aria-checked") == "true"
    chips = tab.locator(".st-key-sweep button")
    colours = [chips.nth(n).evaluate("e => getComputedStyle(e).backgroundColor") for n in (0, 1, 6)]
    depths = [float(colour.rpartition(",")[2].rstrip(")")) for colour in colours]
    assert depths[0] < 0.05 < depths[1] < depths[2]  # my, dog, walks
    chips.nth(1).click()
    tab.get_by_text("The model gives dog a probability of").wait_for()
    assert "at=1" in tab.url
    unharmed(tab)
