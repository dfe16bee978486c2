"""What a model does with a text, as arrays: predictions, attention, attributions, vectors, training runs."""
