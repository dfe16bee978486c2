"""Chapter 13: what it knows."""
