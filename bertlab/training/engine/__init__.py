"""The engine of a training: loop, optimizers, devices, precision, checkpoints of a run."""
