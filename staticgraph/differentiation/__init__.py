"""Differentiation: `gradients`, and gradient functions that scripts give.

`gradients.py` is the entry; `backward.py` walks from ys to xs and adds operations.
"""
