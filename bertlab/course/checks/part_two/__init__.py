"""Checkers of part two, chapters 09 to 13: what BERT is for."""
