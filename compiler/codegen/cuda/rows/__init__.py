"""Kernels of rows: a group of threads does a row, and keeps of it what it can in registers."""
