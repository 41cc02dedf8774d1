"""The objects of an object-based checkpoint: which holds which, and where their values lie."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `object_graph.pyi`.
declare(__name__)
