"""From a Function of fused groups to a Program: kernels, their order, and their memory.

`lower.py` is the entry, and `program.py` is what it makes. `kernels.py` builds the loops of a group,
`buffer_assignment.py` gives values their addresses, and `parallel_schedule.py` finds what may run at the same
time.
"""
