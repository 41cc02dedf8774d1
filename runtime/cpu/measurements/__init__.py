"""Measurements on this machine: times of kernels, peak rates, and the search for the fastest way.

`meter.py` times the parts of a step. `autotune.py` times one kernel done in several ways, and chooses.
"""
