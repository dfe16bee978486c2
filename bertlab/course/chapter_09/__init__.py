"""Chapter 09: one sentence."""
