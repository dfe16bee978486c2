"""The pages of the explorer, a folder each.

The folder is not called "pages": Streamlit takes one of that name beside explore.py for its older kind of app and tells
the first visitor of a page that it does not exist.
"""
