"""How text becomes model inputs: masking, sentence pairs, task features, token stores on disk."""
