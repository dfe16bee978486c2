"""A trained model on its way to users: as a file for another runtime, as vectors."""
