"""Loops, variables and effects, and calls of Python and of other processes."""
