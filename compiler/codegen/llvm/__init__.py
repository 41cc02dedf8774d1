"""LLVM: a kernel, and the step that calls kernels, as LLVM text.

`kernel.emit` prints a kernel and `step.step` a step. The scalar functions are the table in `scalar.py`: a new
one needs a line there. Nothing here calls LLVM.
"""
