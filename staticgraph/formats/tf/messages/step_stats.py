"""Messages in which a run reports times and memory by device and operation."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `step_stats.pyi`.
declare(__name__)
