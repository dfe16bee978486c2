"""Labelled examples of the small town for each task family; dev and test hold combinations that train never shows."""
