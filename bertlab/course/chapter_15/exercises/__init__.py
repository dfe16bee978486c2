"""The exercises of chapter 15."""
