"""Labelled examples as files and published data sets hold them: tables, CoNLL, SQuAD, the hub."""
