"""HTML without its looks, for tests of what it says."""

import re


def unstyled(html: str) -> str:
    """Return the HTML without its style attributes."""
    return re.sub(r' style="[^"]*"', "", html)
