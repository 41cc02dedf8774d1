"""Index arithmetic: positions in buffers as forms of loop variables, their ranges, and proofs of bounds.

`affine.py` has the forms, `index.py` simplifies positions, `extremes.py` bounds those with open loops.
`facts.py` has what is known at a place in a kernel, and `in_bounds.py` proves that a kernel stays within its
buffers.
"""
