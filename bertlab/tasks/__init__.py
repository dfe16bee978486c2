"""The task families of the paper, each a class: how examples are read, encoded, predicted, measured and shown."""
