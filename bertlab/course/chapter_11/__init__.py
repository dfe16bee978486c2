"""Chapter 11: every token."""
