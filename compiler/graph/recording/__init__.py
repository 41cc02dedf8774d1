"""Recording: how operations get into the user's graph.

`calls.py` makes an operation of the arguments of a call, `restore.py` of what a file says, `snapshot.py` of
a read of a variable. `originals.py` notes which operation a backward one was made for. `Graph.record` is
the entrance.
"""
