"""Scalar operations, one record each: meaning, cost, formula and texts.

`instructions` has the record and what processors compute by themselves, `functions` the rest.
"""
