"""Shapes and places: tensors that are made, moved, cut, put together, read and written."""
