"""Algebra of open sizes that few graphs need: when sizes are equal that were computed in different ways
(`canonical.py`), and what ops on whole numbers make of sizes (`integer_ops.py`).
"""
