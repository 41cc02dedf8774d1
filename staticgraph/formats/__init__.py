"""Formats of other libraries: ONNX, and TensorFlow's graphs, SavedModels and messages.

`contents` tells what is in a file of any format, without running it.
"""
