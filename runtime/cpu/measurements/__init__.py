"""Measurements on this machine: times of kernels, peak rates, and the search for the fastest way.

`meter.py` times the parts of a step, `standalone_kernel.py` one kernel, in units of `ticks.py`. `autotune.py`
chooses by them.
"""
