"""The exercises of chapter 17."""
