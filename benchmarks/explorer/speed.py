"""How fast the explorer answers in a real browser: first views, hover, heads, masks, knockouts.

    python benchmarks/explorer/speed.py                 # needs Chromium or Chrome

Each line has a bar that it should stay under. "Cold" runs from the start of the server to the first view; "warm" from
the loaded page, in a fresh browser profile, on a server that has shown the page before. Hover and head switches
are timed inside the browser, from the event to the next painted frame, as is the grid of 144 heads at 64 tokens (with
its control: 1.2 MB of weights). A frame of the moving picture is the time of its script alone, without that of the
browser that shows it. The other lines run from the press of a key or button to the new picture, each time
on something the server has not computed before.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

from rich.console import Console
from rich.table import Table

from benchmarks.explorer.browser import FIRST_VIEW, PAGES, chromium, explorer, first_view, settle

# All that the first chart of the page says: its words, and the values of its marks.
CHART = (
    "[document.querySelector('[data-testid=stVegaLiteChart] svg')].filter(Boolean)"
    ".map(svg => svg.textContent + [...svg.querySelectorAll('[aria-label]')].map(e => e.ariaLabel)).join()"
)
FRAME = """const frame = () => new Promise((done) => requestAnimationFrame(() => {
  const after = new MessageChannel(); after.port1.onmessage = done; after.port2.postMessage(0); }));
const timed = async (act) => {
  await frame();
  const start = performance.now();
  act();
  await frame();
  return performance.now() - start;
};
"""
HOVER = f"""async (cells, times) => {{ {FRAME}
  const box = cells.getBoundingClientRect(), all = [];
  for (let k = 0; k < times; k++) {{
    const part = (k + 0.5) / times;
    const at = {{ clientX: box.left + box.width * part, clientY: box.top + box.height * part }};
    all.push(await timed(() => cells.dispatchEvent(new PointerEvent("pointermove", at))));
  }}
  return all;
}}"""
SWITCH = f"async (thumb) => {{ {FRAME} return timed(() => thumb.click()); }}"
MOUNT = f"""async ([module, bytes, times]) => {{ {FRAME}
  const {{ mount }} = await import(URL.createObjectURL(new Blob([module], {{ type: "text/javascript" }})));
  const data = Uint8Array.from(bytes), all = [];
  for (let k = 0; k < times; k++) {{
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    all.push(await timed(() => mount(root, data, {{}}, () => {{}})));
  }}
  return all;
}}"""
# Before the page's own scripts: notes how long the script of each frame of word.js takes, in seconds.
FRAMES = """window.frames_took = [];
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (act) => ask((now) => {
  const start = performance.now();
  act(now);
  if (act.name === "frame") window.frames_took.push((performance.now() - start) / 1000);
});"""
NAMES = "baker farmer doctor teacher nurse sailor painter singer writer driver".split()

Line = tuple[str, float, list[float]]  # what, its bar in seconds, what was measured


def cold(browser) -> list[float]:
    tab, start = browser.new_page(), time.perf_counter()
    with explorer() as (address, _):
        first_view(tab, address, "play")
        return [time.perf_counter() - start]


# Set inside the browser when the first view has been painted: a question from outside waits for all other charts too.
WATCH = f"""{{ {FRAME}
  const parts = () => [document, ...[...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean)];
  const look = async () => {{
    if (!parts().some((part) => part.querySelector("{FIRST_VIEW}"))) return requestAnimationFrame(look);
    await frame();
    window.firstView = performance.now();
  }};
  requestAnimationFrame(look);
}}"""
LOADED = "(window.firstView - performance.getEntriesByType('navigation')[0].loadEventEnd) / 1000"


def warm(browser, address: str, page: str, times: int) -> list[float]:
    found = []
    for _ in range(times + 1):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.add_init_script(WATCH)
        first_view(tab, address, page)
        tab.wait_for_function("window.firstView")
        found.append(tab.evaluate(LOADED))
        context.close()
    return found[1:]  # the first one warmed the server


def canvas(browser, address: str) -> Iterator[Line]:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    first_view(tab, address, "attention")
    settle(tab)
    hover = tab.locator(".cells").evaluate(HOVER, 40)
    yield "hover over a head", 0.05, [ms / 1000 for ms in hover]
    yield "another head", 0.05, [thumb.evaluate(SWITCH) / 1000 for thumb in tab.locator(".thumb").all()]
    tab.close()


def frames(browser, address: str) -> list[float]:
    """Seconds of script in each frame of the moving picture, played once from its beginning to its end."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.add_init_script(FRAMES)
    first_view(tab, address, "play", "?play_view=Through+the+layers")
    settle(tab)
    tab.get_by_role("slider").first.press("Home")
    tab.evaluate("window.frames_took = []")
    tab.get_by_role("button", name="Play").click()
    tab.get_by_role("button", name="Stop").wait_for(state="detached", timeout=120_000)
    found = tab.evaluate("window.frames_took")
    tab.close()
    return found


def grid(browser, times: int) -> list[float]:
    import torch

    from bertlab.draw.html.canvas import attention_widget
    from bertlab.explain.attention.maps import AttentionMaps

    drawn = torch.randn(2, 12, 12, 64, 64, generator=torch.Generator().manual_seed(0))
    tokens = ["[CLS]", *(f"token{i % 40}" for i in range(62)), "[SEP]"]
    heads, control = (AttentionMaps(tokens, [0] * 64, weights) for weights in (3 * drawn).softmax(-1))
    widget = attention_widget(heads, "144 heads", control)
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    found = tab.evaluate(MOUNT, [str(widget._esm), list(widget.data), times])
    tab.close()
    return [ms / 1000 for ms in found]


def until_redrawn(tab, act: Callable[[], None]) -> float:
    """Seconds from `act` until the first chart of the page is another."""
    before, start = tab.evaluate(CHART), time.perf_counter()
    act()
    tab.wait_for_function(f"(before) => {{ const now = {CHART}; return now && now !== before; }}", arg=before)
    return time.perf_counter() - start


def masks(browser, address: str) -> list[float]:
    tab, found = browser.new_page(viewport={"width": 1280, "height": 900}), []
    first_view(tab, address, "play", "?text=He+closed+the+door+behind+him+and+sat+down+by+the+fire.&mask=4")
    for word in ("closed", "behind", "him", "and", "sat", "down", "by", "fire"):
        settle(tab)
        chips = tab.locator("[data-testid=stButtonGroup]", has_text="Press a word to mask it")
        chip = chips.get_by_text(word, exact=True)
        found.append(until_redrawn(tab, chip.click))
    tab.close()
    return found


def knockouts(browser, address: str) -> list[float]:
    tab, found = browser.new_page(viewport={"width": 1280, "height": 900}), []
    first_view(tab, address, "attention", "?attention_tab=Switch+heads+off")
    for name in NAMES:
        settle(tab)
        tab.get_by_label("Your text").fill(f"the {name} was hungry because the soup was too [MASK].")
        found.append(until_redrawn(tab, partial(tab.keyboard.press, "Control+Enter")))
    tab.close()
    return found


def lines(times: int) -> Iterator[Line]:
    with chromium() as browser:
        yield "first view, cold", 8, cold(browser)
        with explorer() as (address, _):
            for page in PAGES:
                yield f"first view, warm: {page}", 2, warm(browser, address, page, times)
            yield "a frame of the moving picture", 1 / 60, frames(browser, address)
            yield from canvas(browser, address)
            yield "changed mask to new guesses", 0.6, masks(browser, address)
            yield "all knockouts of 6 x 12 heads", 1, knockouts(browser, address)
        yield "144 heads at 64 tokens", 0.3, grid(browser, times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how often pages are opened and grids drawn")
    arguments = parser.parse_args()
    table = Table("", "limit, ms", "median, ms", "slowest, ms", "times")
    for what, bar, found in lines(arguments.times):
        figures = (bar, statistics.median(found), max(found))
        table.add_row(what, *(f"{1000 * value:,.{0 if bar > 0.02 else 1}f}" for value in figures), str(len(found)))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
