"""Rules by which operations are captured, by subject. `capture/table.py` has the operation of each.

Operations that only compute are in `operations`; `static_values` finds shapes and axes, which must be known.
"""
