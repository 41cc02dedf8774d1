"""Linear algebra: the parts of the namespace `linalg` that are made of its other functions."""
