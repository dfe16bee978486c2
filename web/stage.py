"""Stage the pages of the book for Sphinx: chapters, guides, comparisons, model cards; their links lead somewhere."""

import ast
import json
import posixpath
import re
import shutil
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from bertlab.io.locate import bundled_models, locate
from web.repository import ADDRESS

ROOT = Path(__file__).parents[1]
BOOK = Path(__file__).parent / "book"
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")  # not pictures; a label may hold [CLS]
GITHUB = "https://github.com/"
WIDGET = "application/vnd.jupyter.widget-view+json"
HINT = "<p><i>Run this cell to get its controls.</i></p>"


def stage(folder: Path) -> None:
    """Write the sources of the book into `folder`."""
    shutil.copytree(BOOK, folder)
    shutil.copytree(ROOT / "web" / "live" / "js", folder / "live-code")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.csv"))
    shutil.copy(ROOT / "CONTRIBUTING.md", folder / "contributing.md")
    front, readme = (page.read_text(encoding="utf-8") for page in (folder / "index.md", ROOT / "README.md"))
    (folder / "index.md").write_text(front.replace("README\n", readme.partition("\n")[2], 1), encoding="utf-8")
    (folder / "models").mkdir()
    for name in bundled_models():
        card = (locate(name) / "README.md").read_text(encoding="utf-8")
        (folder / "models" / f"{name}.md").write_text(re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.S))
    (folder / "notebooks").mkdir()
    for path in [ROOT / "notebooks" / "README.md", *(ROOT / "notebooks").glob("*.ipynb")]:
        shutil.copy(path, folder / "notebooks")
    for page in folder.rglob("*.md"):
        here = page.relative_to(folder).as_posix()
        page.write_text(links(page.read_text(encoding="utf-8"), origin(here), folder), encoding="utf-8")
    for path in (folder / "notebooks").glob("*.ipynb"):
        path.write_text(json.dumps(chapter(json.loads(path.read_text(encoding="utf-8")), path, folder)))


def origin(page: str) -> str:
    """Return where in the repository a staged page comes from: its links are relative to that."""
    if page.startswith("models/"):
        return f"data/models/{Path(page).stem}/README.md"
    return {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}.get(page, page)


def staged(path: str) -> str:
    """Return the page that a file of the repository becomes."""
    if card := re.fullmatch(r"data/models/([^/]+)/README\.md", path):
        return f"models/{card[1]}.md"
    return {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}.get(path, path)


def links(text: str, here: str, folder: Path) -> str:
    """Point links of a page that comes from `here` to staged pages, others to the repository; or leave their words."""
    home = posixpath.dirname(staged(here))

    def one(match: re.Match) -> str:
        label, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        if (folder / staged(path)).is_file():
            return f"[{label}]({posixpath.relpath(staged(path), home or '.')}{'#' * bool(anchor)}{anchor})"
        return f"[{label}]({ADDRESS}/blob/main/{path})" if ADDRESS else label

    return LINK.sub(one, text)


def chapter(notebook: dict, path: Path, folder: Path) -> dict:
    """Return a notebook as the book shows it: links, panels and hints for a reader who runs nothing."""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            cell["source"] = links(source, f"notebooks/{path.name}", folder)
        cell["outputs"] = [output(one, source) for one in cell.get("outputs", [])]
        if cell["cell_type"] == "markdown":
            del cell["outputs"]
    first = notebook["cells"][0]
    title = re.sub(r"\A\[(?:Previous|Course home).*\n", "", first["source"]).lstrip()
    numbered = title.replace("# ", f"# {path.name[:2]} ", 1)
    first["source"] = numbered.replace("\n", f"\n\n{run_it(path.name)}\n\n", 1)
    return notebook


def run_it(name: str) -> str:
    return (
        f'<p class="run"><a href="{name}" download>Download this notebook</a> to run it and to do its exercises: '
        f"<code>make lab</code> opens it beside the library.{colab(name, ADDRESS)}</p>"
    )


def colab(name: str, address: str) -> str:
    """Return where a chapter opens in Colab, and its first cell there; nothing if it is not on GitHub."""
    if not address.startswith(GITHUB):
        return ""
    link = f"https://colab.research.google.com/github/{address.removeprefix(GITHUB)}/blob/main/notebooks/{name}"
    cell = f'%pip install -q "bertlab[course] @ git+{address}"'
    return f' <a href="{escape(link)}">Colab</a> opens it too; run this there first: <code>{escape(cell)}</code>'


def output(saved: dict, source: str) -> dict:
    """Return a saved output without what needs a running kernel."""
    if saved["output_type"] == "error":
        return {"output_type": "stream", "name": "stdout", "text": "\n".join(saved["traceback"])}
    if WIDGET in saved.get("data", {}):
        html = "".join(saved["data"].get("text/html", ""))
        saved["data"] = {"text/html": html.replace(HINT, live(source)), "text/plain": ""}
    return saved


def live(source: str) -> str:
    """Return what stands in place of a panel's controls: a link to the live page, with the panel's text."""
    query = "".join(f"?{urlencode({'text': text})}" for text in panel_texts(source)[:1])
    return (
        '<p class="run">The controls of this panel work in the notebook. '
        f'<a href="../live/{query}">The live page</a> takes any sentence right here.</p>'
    )


def panel_texts(source: str) -> list[str]:
    """Return the sentences that a cell gives a panel."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:  # a magic of IPython
        return []
    given = [one for call in calls if ast.unparse(call.func).endswith("_panel") for one in call.args]
    texts = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return [text for text in texts if " " in text]
