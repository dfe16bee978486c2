"""The solutions of my_bert.py, a file for one chapter or for several on one subject.

keep.py joins them; config.py is the beginning.
"""
