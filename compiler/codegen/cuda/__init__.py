"""Kernel -> CUDA C: what a GPU runs for one kernel, as text, and with how many threads.

`print.py` is the entry: it takes a schedule of `kernel/schedule_gpu/`, and each family of these has a folder.
"""
