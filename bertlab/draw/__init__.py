"""Arrays to pictures: Altair charts, marked text, and the canvas of attention heads. No model runs here."""
