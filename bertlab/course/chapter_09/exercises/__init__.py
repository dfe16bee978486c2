"""The exercises of chapter 09."""
