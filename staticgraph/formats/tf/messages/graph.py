"""Graphs as messages: nodes, their attributes, and functions."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `graph.pyi`.
declare(__name__)
