"""The options of sessions, runs and servers, as TF1 took them.

One native function runs a whole step here, so that most of them have nothing to change.
"""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `config.pyi`.
declare(__name__)
