"""Differentiation of Functions: cotangents of results become those of inputs, the last node first.

`reverse.py` is the entry, and applies the formula of each op. `loops.py` and `branches.py` differentiate what
has a body. Derivatives in the user's graph are made in `staticgraph/differentiation/`, by the same formulas.
"""
