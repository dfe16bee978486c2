"""Chapter 01: why both sides."""
