"""Runs programs on a GPU: memory, functions and captured graphs through a driver of a few calls.

`backend.py` is the entry, `executable.py` runs a step. `cuda/` has the driver, `simulator/` one for tests.
"""
