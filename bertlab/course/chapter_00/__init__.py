"""Chapter 00: the tour."""
