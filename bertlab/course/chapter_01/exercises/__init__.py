"""The exercises of chapter 01."""
