"""Recorded experiments: runs behind figures, each a small file of results that says how it was made.

Records and definitions are read without PyTorch. `make papers` makes the records;
docs/work/extending.md says how to add one.
"""
