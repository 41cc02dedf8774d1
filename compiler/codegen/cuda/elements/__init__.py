"""Elements computed each by itself, and kernels whose loops are given."""
