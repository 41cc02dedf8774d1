"""More tables (TF1's `tf.lookup.experimental`)."""

from staticgraph.lookup.tables import DenseHashTable

__all__ = ["DenseHashTable"]
