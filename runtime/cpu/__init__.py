"""The CPU backend: LLVM text becomes machine code in this process, and a pool of threads runs it.

`compile.py` asks the compiler, `jit.py` loads the code, `pool.py` has the threads.
"""
