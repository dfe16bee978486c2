"""Build the web edition into build/site: `make site`, or python -m web.build."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bertlab.io.adapter_config import base_of
from bertlab.io.locate import bundled_models, locate
from web.siblings import TEXTS, loss_by_rounding, sureness
from web.stage import ROOT, stage
from web.stored import stored_answers
from web.weights import OTHERS, WEIGHTS, chosen_weights, copy_model, opened

WEB = Path(__file__).parent
SITE = ROOT / "build" / "site"
MODELS = ("english", "english-scratch")  # those that are bundled: the best first, the quickest to load last
# What siblings of the best model were taught, each an adapter of it.
SIBLINGS = {"opinion": "english-sentiment", "names": "english-names", "answers": "english-questions"}
SECTION = re.compile(r'(<section id="([^"]+)">\s*(?:<span[^>]*></span>\s*)*<h\d)')
ADAPTER_FILES = ("config.json", "adapter_config.json", "adapter_model.safetensors")


def main() -> None:
    shutil.rmtree(SITE, ignore_errors=True)
    build_book(SITE)
    build_live(SITE, [name for name in MODELS if name in bundled_models()])
    keep_offline(SITE)
    print(f"{SITE}: {folder_bytes(SITE) / 1e6:.1f} MB")


def build_book(site: Path) -> None:
    """Write the book into `site`, with the notebooks to download and the index of its search."""
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "book"
        stage(source)
        options = ["--fail-on-warning", "--quiet", "--jobs", "auto", "--doctree-dir", f"{temporary}/tree"]
        subprocess.run([sys.executable, "-m", "sphinx", *options, str(source), str(site)], check=True, cwd=ROOT)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, site / "notebooks")
    for name in (".buildinfo", "objects.inv", "searchindex.js"):  # of use to Sphinx alone
        (site / name).unlink(missing_ok=True)
    (site / ".nojekyll").touch()
    index_search(site)


def index_search(site: Path) -> None:
    """Write the search index: the pages' own text, without code that draws.

    Sphinx gives sections their names, and Pagefind asks headings for them: it reads copies of the pages.
    """
    options = ["--root-selector", "article", "--exclude-selectors", "script,.headerlink", "--silent"]
    with tempfile.TemporaryDirectory() as copies:
        for page in site.rglob("*.html"):
            copy = Path(copies) / page.relative_to(site)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(SECTION.sub(r'\1 id="\2"', page.read_text(encoding="utf-8")), encoding="utf-8")
        place = ["--site", copies, "--output-path", str(site / "pagefind")]
        subprocess.run([sys.executable, "-m", "pagefind", *place, *options], check=True)


def build_live(site: Path, models: list[str], texts: int = TEXTS) -> None:
    """Write the live page into `site`/live with the bundled models of these names, the best first; its siblings are
    measured on so many `texts`."""
    live = site / "live"
    shutil.copytree(WEB / "live", live)
    examples = json.loads((live / "examples.json").read_text(encoding="utf-8"))
    (live / "examples.json").unlink()
    entries, weights = [], {}
    for name in models:
        weights[name], figures = chosen_weights(name)
        copy_model(name, weights[name], live / "models" / name)
        entries.append(entry(name, live / "models" / name) | {"weights": figures})
    siblings = []
    for task, name in SIBLINGS.items():
        if adapts(name, models[0]):
            measured = {"loss": loss_by_rounding(task, name, weights[models[0]], texts), "sure": sureness(name)}
            siblings.append(copy_sibling(task, name, live / "models" / name) | measured)
    write_json(live / "site.json", {"models": entries, "siblings": siblings, **examples})
    write_json(live / "stored.json", stored_answers(models[0], opened(models[0], weights[models[0]]), examples["gaps"]))


def adapts(name: str, model: str) -> bool:
    """Return whether there is a bundled adapter of this name of that model."""
    return name in bundled_models() and base_of(locate(name)) == locate(model)


def copy_sibling(task: str, name: str, folder: Path) -> dict:
    """Copy what the page reads of an adapter; return its task, name, size and version."""
    folder.mkdir(parents=True)
    for file in ADAPTER_FILES:
        shutil.copy(locate(name) / file, folder)
    return {"task": task} | entry(name, folder)


def entry(name: str, folder: Path) -> dict:
    """Return the name, size and version of the files that the page reads of a model."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files(folder)))
    return {"name": name, "bytes": folder_bytes(folder), "version": digest.hexdigest()[:12]}


def keep_offline(site: Path) -> None:
    """Write the service worker, which keeps the live page, but for the weights, from the first visit on, and the search
    index from the first search on. Weights are renewed where those of an older build were kept."""
    wrote = json.loads((site / "live" / "site.json").read_text())
    read = [(one, (*OTHERS, WEIGHTS)) for one in wrote["models"]] + [(one, ADAPTER_FILES) for one in wrote["siblings"]]
    models = [f"live/models/{one['name']}/{file}?{one['version']}" for one, names in read for file in names]
    weights = [path for path in models if WEIGHTS in path]
    small = [path for path in models if path not in weights]
    page = [path for path in files(site / "live") if "models" not in path.parts]
    content = hashlib.sha256(b"".join(path.read_bytes() for path in files(site)))
    script = (WEB / "sw.js").read_text(encoding="utf-8")
    for name, value in {
        "VERSION": content.hexdigest()[:12],
        "LIVE": ["live/", *addresses(site, page), *small],
        "SEARCH": addresses(site, files(site / "pagefind")),
        "WEIGHTS": weights,
    }.items():
        script = script.replace(f'"{name}"', json.dumps(value))
    (site / "sw.js").write_text(script, encoding="utf-8")


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def addresses(site: Path, paths: list[Path]) -> list[str]:
    return [path.relative_to(site).as_posix() for path in paths]


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in files(folder))


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
