"""Fair comparisons: the same text, steps and fine-tuning for each of several models, with several seeds."""
