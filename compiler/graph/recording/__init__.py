"""Recording: how operations get into the user's graph.

`calls.py` makes an operation of the arguments of a call, or of a read of a variable, and `restore.py` of what
a file says. `Graph.record` is the entrance.
"""
