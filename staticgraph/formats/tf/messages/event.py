"""Events: the records of the files that TensorBoard reads."""

from staticgraph.formats.tf.messages.schema import declare

EVENTS = "tfevents"  # in the name of each file of events

# Type checkers read `event.pyi`.
declare(__name__)
