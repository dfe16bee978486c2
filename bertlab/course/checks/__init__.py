"""Checkers of chapters 11 and 15, a folder for each part of the course.

Each calls the reader's function on small cases and names the mistake.
"""
