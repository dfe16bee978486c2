"""Chapter 08: pretraining."""
