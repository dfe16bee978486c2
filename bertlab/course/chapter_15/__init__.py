"""Chapter 15: why it won."""
