"""`tf.contrib.feature_column`: layers of columns of sequences."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.feature_column.sequence_layers import sequence_input_layer

__all__ = ["sequence_input_layer"]

show_public_names(__name__)
