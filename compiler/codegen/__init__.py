"""Code generators: from a kernel to the text of a program for one device.

`llvm/` prints kernels and steps for a processor, `gemm/` its products, `cuda/` kernels for a GPU. `native/`
has the functions that Python calls. `target.py` describes a processor, and `abi.py` what texts and runtime
share.
"""
