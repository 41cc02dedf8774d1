"""Message of the checkpoints of a folder."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `checkpoint.pyi`.
declare(__name__)
