"""Figures for notebooks and reports (matplotlib)."""
