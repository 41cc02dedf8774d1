"""Summaries: what a program reports of a step, for TensorBoard."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `summary.pyi`.
declare(__name__)
