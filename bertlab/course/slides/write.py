"""Slides as one HTML file: nbconvert's reveal export with reveal.js from a package and formulas as MathML."""

import importlib.resources
from pathlib import Path

from bertlab.errors import InputError, require
from bertlab.io.atomic import atomic_write


def find_chapter(name: str, folder: Path) -> Path:
    """Return the chapter with this number or name, or the notebook at this path. Raises InputError for no such one."""
    chapters = sorted(folder.glob("[0-9]*.ipynb"))
    if Path(name).suffix == ".ipynb" and Path(name).is_file():
        return Path(name)
    found = [path for path in chapters if path.stem == name or path.stem.split("_")[0] == name.zfill(2)]
    if not found:
        raise InputError(f"no chapter {name!r}; there are {', '.join(path.stem for path in chapters)}")
    return found[0]


def write_slides(notebook: Path, out: Path) -> int:
    """Write the slides of a notebook to an HTML file and return how many there are.

    Raises InputError for what is no notebook, where a package is missing, or where `out` cannot be written.
    """
    for module in ("nbconvert", "pyreveal", "latex2mathml"):
        require(module, "course")
    import nbformat
    from nbconvert.exporters import SlidesExporter

    from bertlab.course.slides.cut import cut

    try:
        read = nbformat.read(notebook, as_version=4)
    except Exception as error:  # nbformat has no error of its own that they share
        raise InputError(f"{notebook}: no notebook ({type(error).__name__})") from error
    read.cells = [nbformat.from_dict(cell | {"id": f"slide-{n}"}) for n, cell in enumerate(cut(read.cells))]
    if not read.cells:
        raise InputError(f"{notebook}: nothing in it can be shown on slides")
    read.metadata.pop("widgets", None)
    exporter = SlidesExporter(template_name="template", extra_template_basedirs=[str(Path(__file__).parent)])
    files = importlib.resources.files("pyreveal") / "revealjs" / "dist"
    js, css = ((files / f"reveal.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    resources = {"slides": {"title": notebook.stem, "css": css, "js": js.replace("</script", "<\\/script")}}
    html, _ = exporter.from_notebook_node(read, resources=resources)
    atomic_write(out, html)
    return sum(cell.metadata.slideshow.slide_type != "-" for cell in read.cells)
