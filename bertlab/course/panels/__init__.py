"""Panels to play with in a notebook: type, slide, and see what the model makes of it."""

from bertlab.course.panels.attention import query_panel
from bertlab.course.panels.context import context_panel
from bertlab.course.panels.embeddings import positions_panel
from bertlab.course.panels.encoder import ablation_panel
from bertlab.course.panels.masking import masking_panel
from bertlab.course.panels.models import fill_panel, heads_panel, question_panel
from bertlab.course.panels.pairs import pair_panel
from bertlab.course.panels.tokens import pieces_panel
from bertlab.course.panels.training import snapshots_panel

__all__ = [
    "ablation_panel",
    "context_panel",
    "fill_panel",
    "heads_panel",
    "masking_panel",
    "pair_panel",
    "pieces_panel",
    "positions_panel",
    "query_panel",
    "question_panel",
    "snapshots_panel",
]
