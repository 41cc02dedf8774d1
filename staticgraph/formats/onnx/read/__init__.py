"""Nodes of an ONNX model on their way into a graph. `load.py` is the entry."""
