"""Chapter 12: where the answer stands."""
