"""CUDA graphs: a program recorded once and replayed, with what each node has to wait for.

`recorder.py` is the entry.
"""
