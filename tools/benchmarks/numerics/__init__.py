"""Numerical functions against NumPy with SciPy, PyTorch and JAX: linear algebra and the like.

`group.py` runs them. Each file of `FILES` there has a dictionary `WORK` of its subject; `work.py` says what a
work is, `rows.py` how each library does one.
"""
