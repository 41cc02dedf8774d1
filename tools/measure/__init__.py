"""Measurements of one cost each, such as that of a first run; `tools/benchmark.py` times steps."""
