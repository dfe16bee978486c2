"""Training: from text to a pretrained model, and from there to a task."""
