"""Chapter 03: input embeddings."""
