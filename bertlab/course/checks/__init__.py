"""Checkers of chapters 10, 11 and 13 to 18, a folder for each part of the course.

Each calls the reader's function on small cases and names the mistake.
"""
