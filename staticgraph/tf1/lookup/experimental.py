"""More tables (TF1's `tf.lookup.experimental`)."""

from staticgraph.tf1.lookup.tables import DenseHashTable

__all__ = ["DenseHashTable"]
