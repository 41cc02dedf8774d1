"""Nets that nobody tuned, of many kinds: training, inference and simulation against PyTorch and JAX.

`group.py` runs them. A file has a net or a family of nets, each in three forms: with staticgraph, PyTorch and
JAX; `net.py` says what a net is. Those for images are the nets of `benchmarks.sizes`, whose `*_side.py` also
make steps of all forms: training, results, and state that moves.
"""
