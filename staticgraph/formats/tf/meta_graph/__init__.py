"""Graphs with their collections as TensorFlow's `MetaGraphDef` messages."""
