"""Training examples as they lie in TFRecord files: named lists of bytes, floats or integers."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `example.pyi`.
declare(__name__)
