"""Figures of fine-tuned models: what they learn, two texts, labels of words, answers, and their report."""
