"""Tensors as messages: element type, shape, and values."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `tensor.pyi`.
declare(__name__)
