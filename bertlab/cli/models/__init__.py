"""Commands that ask a model: its shape, its measures, its predictions, what it finds."""
