"""Optimizers: from a loss to one operation that takes a training step.

Each is a rule of `update_rules`, for whole variables and for some of their rows.
"""
