"""Chapter 07: next sentences."""
