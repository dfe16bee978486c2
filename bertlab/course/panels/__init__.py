"""Panels to play with in a notebook: type, slide, and see what the model makes of it."""

from bertlab.course.panels.attention import query_panel
from bertlab.course.panels.bets import bets_panel
from bertlab.course.panels.embeddings import context_panel, positions_panel
from bertlab.course.panels.encoder import ablation_panel
from bertlab.course.panels.family import Reading, readers_panel
from bertlab.course.panels.fine_tuned import classify_panel, names_panel, search_panel, spans_panel
from bertlab.course.panels.inside import inside_panel
from bertlab.course.panels.later import change_panel
from bertlab.course.panels.models import fill_panel, heads_panel, question_panel
from bertlab.course.panels.plans import plan_panel
from bertlab.course.panels.pretraining import masking_panel, pair_panel, snapshots_panel, training_panel
from bertlab.course.panels.tokens import pieces_panel

__all__ = [
    "Reading",
    "ablation_panel",
    "bets_panel",
    "change_panel",
    "classify_panel",
    "context_panel",
    "fill_panel",
    "heads_panel",
    "inside_panel",
    "masking_panel",
    "names_panel",
    "pair_panel",
    "pieces_panel",
    "plan_panel",
    "positions_panel",
    "query_panel",
    "question_panel",
    "readers_panel",
    "search_panel",
    "snapshots_panel",
    "spans_panel",
    "training_panel",
]
