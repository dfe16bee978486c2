"""Checkers of part one, chapters 00 to 08: BERT from tokens to a trained model."""
