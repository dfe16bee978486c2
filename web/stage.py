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
# What the live page reads of a panel's texts, by the panel: names of its link.
TASKS = {
    "question_panel": ("answers", "ask", "read"),
    "spans_panel": ("answers", "ask", "read"),
    "names_panel": ("names", "read"),
}
ELSEWHERE = ("classify_panel", "pair_panel", "search_panel")  # the live page was not taught this
HINT = "<p><i>Run this cell to get its controls.</i></p>"


def stage(folder: Path) -> None:
    """Write the sources of the book into `folder`."""
    shutil.copytree(BOOK, folder)
    shutil.copytree(ROOT / "web" / "live" / "js", folder / "live-code")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.csv"))
    shutil.copy(ROOT / "CONTRIBUTING.md", folder / "contributing.md")
    front, readme = (page.read_text(encoding="utf-8") for page in (folder / "index.md", ROOT / "README.md"))
    readme = readme[readme.index("bertlab is a course") :]  # the book has its own way in
    (folder / "index.md").write_text(front.replace("README\n", readme, 1), encoding="utf-8")
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
    named: dict[str, str] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            named |= strings(parsed(source), named)
        if cell["cell_type"] == "markdown":
            cell["source"] = links(source, f"notebooks/{path.name}", folder)
        cell["outputs"] = [output(one, source, named) for one in cell.get("outputs", [])]
        if cell["cell_type"] == "markdown":
            del cell["outputs"]
    imports = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    imports["metadata"]["tags"] = ["hide-input"]  # folded: a reader who runs nothing came for what follows
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


def output(saved: dict, source: str, named: dict[str, str]) -> dict:
    """Return a saved output without what needs a running kernel."""
    if saved["output_type"] == "error":
        return {"output_type": "stream", "name": "stdout", "text": "\n".join(saved["traceback"])}
    if WIDGET in saved.get("data", {}):
        html = "".join(saved["data"].get("text/html", ""))
        saved["data"] = {"text/html": html.replace(HINT, live(source, named)), "text/plain": ""}
    return saved


def live(source: str, named: dict[str, str]) -> str:
    """Return what stands in place of a panel's controls; a link to the live page where that shows the panel's text."""
    query = panel_query(parsed(source), named)
    query = {name: text.replace("[MASK]", "___") for name, text in query.items()}  # as live/js/link.js writes it
    offer = (
        f' <a href="../live/?{escape(urlencode(query))}">The live page</a> takes this text and any other.'
        if query
        else ""
    )
    return f'<p class="run">The controls of this panel work in the notebook.{offer}</p>'


def panel_query(cell: ast.Module, named: dict[str, str]) -> dict[str, str]:
    """Return the link to the live page with the texts that a cell gives a panel; nothing if there are none."""
    for call in (node for node in ast.walk(cell) if isinstance(node, ast.Call)):
        panel = ast.unparse(call.func).rpartition(".")[2]
        if not panel.endswith("_panel") or panel in ELSEWHERE:
            continue
        texts = [text for text in (string(one, named) for one in call.args) if text and " " in text]
        task, *parts = TASKS.get(panel, ("", "text"))
        if len(texts) >= len(parts):
            return ({"task": task} if task else {}) | dict(zip(parts, texts, strict=False))
    return {}


def parsed(source: str) -> ast.Module:
    """Return a cell as a tree, its lines of magic left out."""
    return ast.parse("\n".join(line for line in source.splitlines() if not line.startswith(("%", "!"))))


def strings(cell: ast.Module, named: dict[str, str]) -> dict[str, str]:
    """Return the variables of a cell that are texts: name -> text."""
    found: dict[str, str] = {}
    for node in cell.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if (text := string(node.value, named | found)) is not None:
                found[node.targets[0].id] = text
    return found


def string(node: ast.AST, named: dict[str, str]) -> str | None:
    """Return the text that an expression stands for: in quotes, a variable, or an f-string of these."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return named.get(name)
        case ast.FormattedValue(value=value, format_spec=None):
            return string(value, named)
        case ast.JoinedStr(values=values):
            parts = [string(value, named) for value in values]
            return None if None in parts else "".join(map(str, parts))
    return None
