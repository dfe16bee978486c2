"""HTML views: the attention canvas, bertviz, marked text."""
