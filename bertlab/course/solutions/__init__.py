"""The solutions of my_bert.py, a file for each chapter or subject. keep.py joins them; config.py is the beginning."""
