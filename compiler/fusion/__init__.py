"""Fusion: from a Function to groups of nodes, each of which becomes one kernel.

`fuse.fuse` is the entry and returns a `Fusion`. What a group may hold is decided here alone; how the group is
computed is decided by `compiler/kernel` and `compiler/lower`.
"""
