"""Matrix products and convolutions as LLVM text: packed operands, cache blocks, register tiles.

`gemm.py` is the entry. `design.py` decides how a product is done, and `plan.py` how each part of it is; the
other files print it. `share_text.py` prints products that are done alike as one: the numbers in which they
differ are `Several` (`several.py`), which the same files compute with and print as parameters.
`transposed_copy.py` is for transpositions, which need the squares that packing turns around.
"""
