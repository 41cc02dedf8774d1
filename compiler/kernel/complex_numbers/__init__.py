"""Complex numbers as pairs of real ones. Expressions may be complex; nothing behind `build_kernel` is.

A complex buffer is one of real numbers with a last axis of 2, as it lies in memory. `split.py` replaces
complex expressions, and `formulas.py` has the arithmetic and the functions of pairs.
"""
