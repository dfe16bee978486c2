"""Chapter 05: the encoder."""
