"""Kernel -> CUDA C: what a GPU runs for one kernel, as text, and with how many threads."""
