"""Pictures with few colours look the same and are smaller."""

import base64
from io import BytesIO

import nbformat
import numpy as np
import torch
from PIL import Image

from bertlab.course.pictures import FewColours, few_colours
from bertlab.draw.figures.attention import matrices


def drawn() -> str:
    weights = torch.rand(8, 8, generator=torch.Generator().manual_seed(0)).softmax(-1)
    file = BytesIO()
    matrices({"one": weights, "two": weights.T}, list("abcdefgh")).savefig(file, format="png", dpi=200)
    return base64.b64encode(file.getvalue()).decode()


def pixels(png: str) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(base64.b64decode(png))).convert("RGB")).astype(int)


def test_smaller_and_alike():
    before = drawn()
    after = few_colours(before)
    assert len(after) < 0.6 * len(before)
    assert pixels(after).shape == pixels(before).shape
    assert np.abs(pixels(after) - pixels(before)).mean() < 1
    assert few_colours(after) == after


def test_transparent_is_white():
    file = BytesIO()
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(file, "PNG")
    assert (pixels(few_colours(base64.b64encode(file.getvalue()).decode())) == 255).all()


def test_all_pictures_of_a_notebook_and_nothing_else():
    picture = nbformat.v4.new_output("display_data", {"image/png": drawn(), "text/plain": "<Figure>"})
    text = nbformat.v4.new_output("stream", text="loss 2.1")
    cells = [nbformat.v4.new_code_cell("plot()", outputs=[picture, text]), nbformat.v4.new_markdown_cell("words")]
    notebook, _ = FewColours(enabled=True)(nbformat.v4.new_notebook(cells=cells), {})
    outputs = notebook.cells[0].outputs
    assert len(outputs[0].data["image/png"]) < len(drawn()) and outputs[0].data["text/plain"] == "<Figure>"
    assert outputs[1] == text
