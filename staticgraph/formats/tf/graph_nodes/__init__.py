"""Nodes of a GraphDef that are functions of this library, and not single ops: how they are read."""

from staticgraph.formats.tf.graph_nodes import functions, quantized, recurrent, sparse, tables

__all__ = ["functions", "quantized", "recurrent", "sparse", "tables"]
