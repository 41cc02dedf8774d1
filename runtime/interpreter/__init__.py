"""The interpreter backend: Functions performed node by node, by the NumPy meaning of each op."""
