"""Size and speed of the web edition in build/site (`make site`), in Chromium, and its pictures for docs/pictures/.

python benchmarks/web/live.py               # sizes, and the times of the live page
python benchmarks/web/live.py --pictures    # pictures only
"""

import argparse
import re
import statistics
from pathlib import Path
from typing import Any

from benchmarks.explorer.browser import chromium
from benchmarks.web.serving import served
from bertlab.course.pictures import reduced

ROOT = Path(__file__).parents[2]
SITE, PICTURES = ROOT / "build" / "site", ROOT / "docs" / "pictures"
LINK = "live/?text=The+nurse+said+that+[MASK]+was+tired.&swap=1:soldier"
HERE = re.compile("Answered by english, here")
RUNS = 20
# Milliseconds from a changed sentence to the answer of the worker, each time another sentence.
WARM = """async (runs) => {
  const { Client } = await import("/live/js/client.js"), { models } = await (await fetch("/live/site.json")).json();
  const address = new URL(`/live/models/${models[0].name}/`, location).href;
  const client = await new Client("").open({ address, version: models[0].version }), times = [];
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    await client.answer([{ text: `Today ${run} people sat down by the [MASK] and smiled.` }]);
    times.push(performance.now() - start);
  }
  return times;
}"""
SHOTS = [
    ("web-live", LINK, 1280, "light"),
    ("web-live-dark", LINK, 1280, "dark"),
    ("web-live-phone", LINK, 390, "light"),
    ("web-chapter", "notebooks/04_attention.html", 1280, "light"),
]


def measure(browser: Any, site: str) -> None:
    for name in ("live", "live/models", "notebooks", "_images", "pagefind", "."):
        size = sum(path.stat().st_size for path in (SITE / name).rglob("*") if path.is_file())
        print(f"{'all' if name == '.' else name:<12}{size / 1e6:6.1f} MB")
    tab = browser.new_page()
    tab.goto(f"{site}/live/?text=Two+plus+two+is+[MASK].")
    tab.locator("#status", has_text=HERE).wait_for()
    print(f"first answer of its own, nothing kept yet: {tab.evaluate('performance.now()') / 1000:.1f} s")
    for task in ("Opinion", "Names", "Answers"):
        tab.get_by_role("button", name=task).click()
        tab.locator("#task-status", has_text="Answered").wait_for()
        print(f"{task}, its adapter not yet loaded: {tab.locator('#task-status').text_content()}")
    times = tab.evaluate(WARM, RUNS)[3:]
    print(f"a new sentence: median {statistics.median(times):.0f} ms, fastest {min(times):.0f} ms")


def pictures(browser: Any, site: str) -> None:
    for name, link, width, scheme in SHOTS:
        size = {"width": width, "height": 900 if width > 400 else 844}
        tab = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        tab.goto(f"{site}/{link}")
        if link == LINK:
            tab.locator("#status", has_text=HERE).wait_for()
            tab.locator("#language").evaluate("button => { button.hidden = true; }")  # not every machine has the font
        (PICTURES / f"{name}.png").write_bytes(reduced(tab.screenshot(animations="disabled")))
        tab.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="take the pictures for docs/pictures/")
    take = parser.parse_args().pictures
    with chromium() as browser, served(SITE) as site:
        (pictures if take else measure)(browser, site)


if __name__ == "__main__":
    main()
