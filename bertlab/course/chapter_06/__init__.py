"""Chapter 06: the masked language model."""
