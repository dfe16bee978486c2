"""The exercises of chapter 14."""
