"""TensorFlow's checkpoints, read and written without it."""

from staticgraph.train.tensor_bundle.bundle import Bundle, is_bundle, write_bundle

__all__ = ["Bundle", "is_bundle", "write_bundle"]
