"""Chapter 17: from a laptop to a cluster."""
