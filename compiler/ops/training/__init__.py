"""Ops of training steps: each changes a variable and its slots by a gradient, and is one optimizer's rule.

`steps.py` has what they share. Begin with `descent.py`: its ops have few inputs.
"""
