"""How good a model is, beside baselines, and the card and report that say so."""
