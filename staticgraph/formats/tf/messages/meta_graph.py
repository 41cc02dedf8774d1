"""Graphs with what belongs to them: collections, signatures, and how they are saved."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `meta_graph.pyi`.
declare(__name__)
