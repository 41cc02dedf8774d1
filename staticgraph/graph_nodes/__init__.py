"""Nodes of a GraphDef that are functions of this library, and not single ops: how they are read."""

from staticgraph.graph_nodes import functions, sparse, tables

__all__ = ["functions", "sparse", "tables"]
