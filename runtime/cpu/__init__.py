"""The CPU backend: LLVM text becomes machine code in this process, and a pool of threads runs it.

`backend.py` is the entry, `compile.py` asks the compiler, `jit.py` loads the code, `executable.py` runs it,
`pool.py` has the threads. `objects.py` makes the code, `disk/` keeps it.
"""
