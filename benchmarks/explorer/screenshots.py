"""Pictures of every page of the explorer, 1280 pixels wide, into docs/pictures/: `make screenshots`.

python benchmarks/explorer/screenshots.py              # needs Chromium or Chrome
python benchmarks/explorer/screenshots.py attention    # one page only
"""

import argparse
from pathlib import Path

from benchmarks.explorer.browser import PAGES, chromium, explorer, first_view, settle
from bertlab.course.pictures import reduced

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
HEIGHT = 1200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", choices=[[], *PAGES], help="default: all")
    pages = parser.parse_args().pages or list(PAGES)
    with chromium() as browser, explorer() as (address, _):
        size = {"width": 1280, "height": HEIGHT}
        tab = browser.new_page(
            viewport=size, color_scheme="light", reduced_motion="reduce"
        )  # the moving picture is whole
        for page in pages:
            first_view(tab, address, page)
            settle(tab)
            place = PICTURES / f"explorer-{page}.png"
            place.write_bytes(reduced(tab.screenshot(animations="disabled")))
            print(place)


if __name__ == "__main__":
    main()
