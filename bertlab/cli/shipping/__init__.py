"""Commands that bring a model to others: its card, exported files, vectors, the hub."""
