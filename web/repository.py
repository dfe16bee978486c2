"""The repository's address: `Repository` of [project.urls] in pyproject.toml. Until it is set, nothing links there."""

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS: str = PROJECT.get("urls", {}).get("Repository", "").rstrip("/")
