"""Algebra of open sizes that few graphs need: when sizes are equal that were computed in different ways
(`canonical.py`), quotients of two sizes (`polynomials.py`), and what ops on whole numbers make of sizes
(`integer_ops.py`).
"""
