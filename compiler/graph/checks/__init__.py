"""Checks: of the types of an op's results, of the numbers that it is given, and of whole Functions.

`result_types.py` runs when an operation is made, `requirements.py` when it runs, `verify.py` between passes.
"""
