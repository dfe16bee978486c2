"""Chapter 14: the family."""
