"""Native support: the functions around compiled steps, as LLVM text.

The thread pool, and what Python calls to run a step: it finds the callable, reads the feeds and makes the
results. The layouts that native code and the runtime share are in `dispatch_layout.py` and `pool_layout.py`.
"""
