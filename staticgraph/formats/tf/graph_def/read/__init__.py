"""Nodes of a GraphDef on their way into a graph. `importing.py` is the entry."""
