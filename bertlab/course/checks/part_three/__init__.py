"""Checkers of part three, chapters 14 to 18: why it won, and what came after."""
