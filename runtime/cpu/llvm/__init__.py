"""LLVM at work: text to object code, for which processor, on which threads.

`batch.py` compiles modules in one call, `objects.py` in several threads, `compile_threads.py` while the
program goes on to write text. `jit.py` beside this folder loads the code.
"""
