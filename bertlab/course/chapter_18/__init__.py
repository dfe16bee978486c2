"""Chapter 18: your own BERT."""
