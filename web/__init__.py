"""The web edition: a live page and a book that any web server can hand out."""
