"""The exercises of chapter 06."""
