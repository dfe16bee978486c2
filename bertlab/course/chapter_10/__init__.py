"""Chapter 10: two sentences."""
