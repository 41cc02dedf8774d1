"""Messages for TensorBoard's projector: embeddings, and the labels and pictures of their rows."""

from staticgraph.formats.tf.messages.schema import declare

# Type checkers read `projector.pyi`.
declare(__name__)
