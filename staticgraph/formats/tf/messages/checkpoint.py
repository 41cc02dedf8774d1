"""Which checkpoints a folder has."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `checkpoint.pyi`.
declare(__name__)
