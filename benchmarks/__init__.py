"""Measurements to repeat on your own machine; each script says with `--help` what it measures and how.

`speed` times training, loading and prediction, `pretraining` and `finetuning` measure what a model learns, `explorer`
drives the pages in a browser. `all.py` is `make bench`; `compare.py` and `relatives.py` make tables that chapters draw.
"""
