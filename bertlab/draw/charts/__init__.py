"""Interactive charts (Altair)."""
