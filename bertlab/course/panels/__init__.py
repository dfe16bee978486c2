"""Panels to play with in a notebook: type, slide, and see what the model makes of it."""

from bertlab.course.panels.attention import query_panel
from bertlab.course.panels.models import fill_panel, heads_panel, masking_panel, question_panel

__all__ = ["fill_panel", "heads_panel", "masking_panel", "query_panel", "question_panel"]
