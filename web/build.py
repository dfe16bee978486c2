"""Build the web edition into build/site: `make site`, or python -m web.build."""

import hashlib
import json
import shutil
from pathlib import Path

from bertlab.io.locate import bundled_models, locate
from web.stored import stored_answers

WEB = Path(__file__).parent
SITE = WEB.parent / "build" / "site"
MODELS = (
    "english",
    "english-scratch",
)  # of those that are bundled, the first is the best and the last the quickest to load
MODEL_FILES = ("config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors")


def main() -> None:
    shutil.rmtree(SITE, ignore_errors=True)
    build_live(SITE, [name for name in MODELS if name in bundled_models()])
    (SITE / "index.html").write_text('<!doctype html><meta http-equiv="refresh" content="0; url=live/">\n')
    keep_offline(SITE)
    print(f"{SITE}: {folder_bytes(SITE) / 1e6:.1f} MB")


def build_live(site: Path, models: list[str]) -> None:
    """Write the live page into `site`/live with the bundled models of these names, the best first."""
    live = site / "live"
    shutil.copytree(WEB / "live", live)
    examples = json.loads((live / "examples.json").read_text(encoding="utf-8"))
    (live / "examples.json").unlink()
    entries = [copy_model(name, live / "models" / name) for name in models]
    write_json(live / "site.json", {"models": entries, "examples": examples})
    write_json(live / "stored.json", stored_answers(models[0], examples))


def copy_model(name: str, folder: Path) -> dict:
    """Copy what the page reads of a model; return its name, size and version."""
    folder.mkdir(parents=True)
    digest = hashlib.sha256()
    for file in MODEL_FILES:
        content = (locate(name) / file).read_bytes()
        (folder / file).write_bytes(content)
        digest.update(content)
    return {"name": name, "bytes": folder_bytes(folder), "version": digest.hexdigest()[:12]}


def keep_offline(site: Path) -> None:
    """Write the service worker: it keeps the live page, but for the weights, from the first visit on."""
    models = json.loads((site / "live" / "site.json").read_text())["models"]
    small = [f"live/models/{m['name']}/{file}?{m['version']}" for m in models for file in MODEL_FILES[:-1]]
    page = sorted(
        path.relative_to(site).as_posix() for path in (site / "live").rglob("*.*") if "models" not in path.parts
    )
    content = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()))
    script = (WEB / "sw.js").read_text(encoding="utf-8")
    script = script.replace('"VERSION"', json.dumps(content.hexdigest()[:12]))
    script = script.replace('["AT_ONCE"]', json.dumps(["live/", *page, *small]))
    (site / "sw.js").write_text(script, encoding="utf-8")


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
