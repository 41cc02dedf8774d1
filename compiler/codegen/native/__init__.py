"""Native support: the functions around compiled steps, which read like the C that they stand for.

`dispatch.py` runs a step for Python, with `feeds.py` and `results.py`; `find.py` finds what to run; `pool.py`
is the thread pool, with what it asks of a `system.py`; `watch.py` lets a step be stopped. They are written
with `builder.py` on the `values.py` and `c_types.py` of C. The structs that native code shares with the
runtime are in `dispatch_layout.py` and `layouts.py`.
"""
