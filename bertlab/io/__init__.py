"""Files in and out: atomic writing, the gate that all reading of checkpoints passes, names to folders, the hub."""
