"""Scalar operations, one record each: meaning, cost, formula and texts.

`primitive` is the record, `instructions` has what processors compute by themselves, `functions` the rest.
"""
