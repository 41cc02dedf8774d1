"""Functions without a closed formula: series and continued fractions that run until terms no longer count.

Each is written as statements for one element, with `While` loops that touch no memory. Elements run in vector
lanes all the same: a loop ends when its last lane does, and a lane that is ready keeps its result. `steps.py`
has the writer of statements.
"""
