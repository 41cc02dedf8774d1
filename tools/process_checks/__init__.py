"""Checks of training in several processes, one a file; `tools/processes.py` runs them."""
