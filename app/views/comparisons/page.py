"""Comparisons: the saved comparisons of ways to pretrain, and a left-to-right model beside BERT on one text."""

from app.shared.page import layout
from app.views.comparisons import fair, sides

VIEWS = {"Fair comparisons": fair, "Left to right, or both sides": sides}

layout.heading(
    "Comparisons",
    "Which way to pretrain is better? Models of the same size, text and steps can tell.",
)
with layout.open_tab("comparisons", VIEWS) as name:
    VIEWS[name].show()
