"""Chapter 16: after BERT."""
