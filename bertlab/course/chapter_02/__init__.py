"""Chapter 02: tokens."""
