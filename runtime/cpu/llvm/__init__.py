"""LLVM at work: text to object code, for which processor, on which threads.

`objects.py` compiles modules in several threads or in one call, `compile_threads.py` while the program goes
on to write text. `jit.py` beside this folder loads the code.
"""
