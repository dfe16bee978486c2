"""The exercises of chapter 16."""
