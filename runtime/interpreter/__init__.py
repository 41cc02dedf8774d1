"""The interpreter backend: Functions performed node by node, by the NumPy meaning of each op.

`backend.py` is the entry; `interpreter.py` performs a Function.
"""
