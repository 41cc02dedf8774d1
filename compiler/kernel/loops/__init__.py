"""Loops of a kernel: which depend on each other, which become one, and which is the innermost.

`dependence.py` decides what is allowed. The others transform kernels, for any schedule.
"""
