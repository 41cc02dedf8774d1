"""Runs programs on a GPU: memory, functions and captured graphs through a driver of a few calls.

`placement.py` says which sessions run here, `backend.py` is the entry, and `executable.py` runs a step.
`cuda/` has the driver, `simulator/` one for tests.
"""
