"""The texts that pages offer, and those of the visitor."""
