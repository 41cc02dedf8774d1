"""A checkpoint in TensorFlow's first format: its tensors, and the parts that they are saved in."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `saved_slices.pyi`.
declare(__name__)
