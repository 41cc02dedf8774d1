"""Matrix products and convolutions as LLVM text: packed operands, cache blocks, register tiles.

`gemm.py` is the entry, and `plan.py` decides what is done; the other files print it.
"""
