"""Rules by which operations are captured, by subject. `capture/walk.py` has the operation of each.

Operations that only compute are in `operations`, which also finds shapes and axes, as these must be known.
"""
