"""Nodes of a GraphDef that are functions of this library, and not single ops: how they are read."""

from staticgraph.graph_nodes import functions, quantized, recurrent, slopes, sparse, tables

__all__ = ["functions", "quantized", "recurrent", "slopes", "sparse", "tables"]
