"""Variables as messages: the names of what belongs to each."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `variable.pyi`.
declare(__name__)
