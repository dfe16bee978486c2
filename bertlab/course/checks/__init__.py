"""Exercise checkers, a file for each chapter. Each calls the reader's function on small cases and names the mistake."""
