"""Panels to play with in a notebook: type, slide, and see what the model makes of it."""

from bertlab.course.panels.context import context_panel
from bertlab.course.panels.models import fill_panel, heads_panel, masking_panel, question_panel

__all__ = ["context_panel", "fill_panel", "heads_panel", "masking_panel", "question_panel"]
