"""The exercises of chapter 00."""
