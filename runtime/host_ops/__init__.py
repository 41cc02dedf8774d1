"""Runs with operations that only Python does: compiled segments, and host calls before, between and after.

`segmented_run.py` is the entry; a run without host operations does not come here.
"""
