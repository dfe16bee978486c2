"""Search by meaning: texts as units, one vector for each, ranked against a question; with word statistics beside it."""
