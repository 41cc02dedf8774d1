"""The graph: types, operations, Functions, where each was made, and what is said when something is wrong.

`graph.py` and `tensor.py` are what a user builds, `function.py` what the compiler transforms, `opdef.py` the
record of an op. `sizes.py` is the arithmetic of sizes that are open.
"""
