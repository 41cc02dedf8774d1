"""Open sizes, such as a batch that is known when a step runs: beside `sizes.py`, which has their arithmetic.

`data.py` writes them into files, `names.py` into code, and `functions.py` evaluates them. `symbols.py` tells
of what they consist. `undecided.py` has the questions that have no answer for all values.
"""
