"""The canvas of attention heads in a real browser: mouse, keys, links, two models, a notebook."""

import pytest
import torch
from browsing import settle, unharmed

from bertlab.draw.html.canvas import ModelHeads, attention_widget
from bertlab.explain.attention.maps import AttentionMaps

pytestmark = pytest.mark.browser


@pytest.fixture
def canvas(tab, server):
    """Opens the page with a link and waits for the heads."""

    def opened(link=""):
        link = link if "model=" in link else f"?model=storyworld-tiny&{link.removeprefix('?')}"
        tab.goto(f"{server}/attention{link}")
        tab.locator(".said").first.wait_for()
        tab.wait_for_function("!document.querySelector('[data-testid=stSkeleton], [data-stale=true]')")
        return tab

    yield opened
    unharmed(tab)


def head(tab, layer, number):
    return tab.locator(f".thumb[title^='layer {layer}, head {number}:']")


def title(tab):
    return tab.locator(".full h4").first.inner_text()


def test_choose_a_head_by_mouse_and_keys(canvas):
    tab = canvas()
    assert title(tab).startswith("Layer 1, head 4")
    tab.get_by_label("Your text").fill("my dog is [MASK].")
    tab.get_by_label("Your text").press("Enter")
    tab.locator(".full h4", has_text="Layer 4, head 2").wait_for()  # nobody has chosen: another text, another head
    head(tab, 2, 1).click()
    assert title(tab).startswith("Layer 2, head 1")
    tab.keyboard.press("ArrowRight")
    assert title(tab).startswith("Layer 2, head 2")
    tab.wait_for_url("**head=2-2*")


def test_toggles_and_hover_answer_at_once(canvas):
    tab = canvas()
    cells = tab.locator(".cells canvas")
    size = int(cells.get_attribute("width"))
    said = tab.locator(".said").inner_text()
    assert said.startswith("Strongest between words: “") and "[CLS]" not in said
    cells.hover(position={"x": 30, "y": 5})
    assert "“[CLS]” attends to “" in tab.locator(".said").inner_text()
    tab.get_by_label("Show [CLS] and [SEP]").uncheck()
    assert int(cells.get_attribute("width")) == size - 2
    assert "[CLS] and [SEP] are hidden" in tab.locator(".legend").inner_text()
    tab.get_by_label("Random weights control").check()
    assert "random weights" in title(tab)
    tab.get_by_label("Arcs instead of matrix").check()
    assert tab.locator(".full svg path").count() > 10


def test_hover_asks_no_server_and_a_choice_only_reports(canvas, tab):
    sent = []
    tab.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    canvas()
    settle(tab)
    assert sent
    sent.clear()
    for y in range(5, 150, 10):
        tab.locator(".cells canvas").hover(position={"x": 30, "y": y})
    tab.locator(".matrix").press("ArrowDown")
    settle(tab)
    assert sent == []
    head(tab, 2, 4).click()
    assert title(tab).startswith("Layer 2, head 4")
    tab.wait_for_url("**head=2-4*")
    assert len(sent) == 1
    tab.get_by_role("tab", name="bertviz").click()
    tab.locator(".said").wait_for(state="detached")
    tab.get_by_role("tab", name="All heads").click()
    tab.locator(".said").wait_for()
    assert title(tab).startswith("Layer 2, head 4"), "it is forgotten over tabs"


def test_find_a_head_that_looks_at_the_previous_token(canvas):
    tab = canvas()
    tab.get_by_label("Heads that attend to").select_option("previous")
    scores = [float(text.split(": ")[1]) for text in tab.locator(".thumb span").all_inner_texts()]
    assert 1 <= len(scores) < 16 and scores == sorted(scores, reverse=True) and scores[0] > 0.9
    assert tab.locator(".roles .best").first.inner_text() == "previous"
    first = title(tab)
    tab.wait_for_url("**role=previous*")
    link = "?" + tab.url.split("?")[1]
    assert title(canvas(link)) == first
    tab.get_by_label("Heads that attend to").select_option("")
    assert tab.locator(".thumb").count() == 16


def test_a_role_that_no_head_plays_shows_the_nearest(canvas):
    tab = canvas("?show=control")
    tab.get_by_label("Heads that attend to").select_option("next")
    assert "No head gives this more than half" in tab.locator(".all").inner_text()
    assert tab.locator(".thumb").count() == 4
    tab.get_by_label("Your text").fill("the")
    tab.get_by_label("Your text").press("Enter")
    tab.get_by_text("This text has no head to show here.").wait_for()


def reds(tab):
    """The most red of each row of the full head: 254 is the brightest colour."""
    size = int(tab.locator(".cells canvas").get_attribute("width"))
    picture = "(canvas, n) => [...canvas.getContext('2d').getImageData(0, 0, n, n).data]"
    red = tab.locator(".cells canvas").evaluate(picture, size)[::4]
    return [max(red[row * size : (row + 1) * size]) for row in range(size)]


def test_each_row_on_its_own_scale(canvas):
    tab = canvas("?show=control")
    dim = reds(tab)
    tab.get_by_label("Brightness").select_option("row")
    assert max(dim) < 150 and min(reds(tab)) > 250
    tab.wait_for_url("**show=control%2Crows*")


def test_two_models_beside_each_other_share_one_scale(canvas):
    tab = canvas("?versus=random+weights&head=2-1&show=rows")
    assert tab.get_by_label("Brightness").first.input_value() == "row"
    tab.get_by_label("Brightness").first.select_option("all")
    assert tab.locator(".who").all_inner_texts() == ["storyworld-tiny", "random weights"]
    left, right = (pane.bounding_box() for pane in tab.locator(".pane").all())
    assert left["y"] == right["y"] and left["x"] < right["x"]
    head(tab, 3, 3).nth(1).click()
    for pane in tab.locator(".full h4").all():
        assert pane.inner_text().startswith("Layer 3, head 3")
    assert [legend.split()[1] for legend in tab.locator(".legend").all_inner_texts()] == ["1.00", "1.00"]


def test_long_texts_scroll_inside_their_box_on_a_phone(canvas, tab):
    tab.set_viewport_size({"width": 390, "height": 800})
    canvas("?text=" + "the%20animal%20was%20too%20tired%20" * 12)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.locator(".heads").evaluate("heads => heads.scrollWidth <= heads.clientWidth + 1")
    assert "Scroll to see all" in tab.locator(".full").inner_text()
    tab.locator(".scroll").evaluate("box => { box.scrollLeft = 300; box.scrollTop = 300; }")
    rows, box = tab.locator(".rows").bounding_box(), tab.locator(".scroll").bounding_box()
    assert rows["x"] >= box["x"] - 4, "labels stay in sight"


NOTEBOOK = """async ([module, bytes]) => {
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const host = (await import(url)).default;
  const state = { data: new DataView(Uint8Array.from(bytes).buffer), view: { layer: 1 } };
  const model = { get: (k) => state[k], set: (k, v) => (state[k] = v), save_changes() {}, on() {} };
  host.render({ model, el: document.body });
  window.state = state;
}"""


def test_the_same_canvas_in_a_notebook(tab):
    maps = AttentionMaps(["[CLS]", "<i>", "[SEP]"], [0, 0, 0], torch.eye(3).expand(2, 2, 3, 3))
    other = AttentionMaps(["[CLS]", "[SEP]"], [0, 0], torch.eye(2).expand(1, 1, 2, 2))
    widget = attention_widget(maps, "mine", beside=ModelHeads("yours", other))
    tab.goto("about:blank")
    tab.evaluate(NOTEBOOK, [str(widget._esm), list(widget.data)])
    assert title(tab) == "Layer 2, head 1 (mine)"
    assert tab.locator(".rows").first.locator("b").all_inner_texts() == maps.tokens
    tab.locator(".pane").first.locator(".thumb").nth(1).click()
    tab.wait_for_function("window.state.view.head === 1 && window.state.view.layer === 0")
    assert tab.locator(".full h4").last.inner_text() == "Layer 1, head 1 (yours)"
    assert tab.outside == [] and tab.broken == []
