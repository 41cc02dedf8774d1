"""The index of a checkpoint in TensorFlow's second format: where each tensor lies."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `tensor_bundle.pyi`.
declare(__name__)
