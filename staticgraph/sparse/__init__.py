"""Sparse tensors, with TensorFlow 1's names: `sg.sparse`."""

from staticgraph.mathematics.sparse_segments import sparse_segment_mean as segment_mean
from staticgraph.mathematics.sparse_segments import sparse_segment_sqrt_n as segment_sqrt_n
from staticgraph.mathematics.sparse_segments import sparse_segment_sum as segment_sum
from staticgraph.sparse.math import (
    add,
    matmul,
    maximum,
    minimum,
    reduce_max,
    reduce_max_sparse,
    reduce_sum,
    reduce_sum_sparse,
    softmax,
)
from staticgraph.sparse.structure import (
    concat,
    expand_dims,
    eye,
    fill_empty_rows,
    from_dense,
    mask,
    merge,
    reorder,
    reset_shape,
    reshape,
    retain,
    slice,
    split,
    to_dense,
    to_indicator,
    transpose,
)
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.sparse.tensor import sparse_placeholder as placeholder

sparse_dense_matmul = matmul

__all__ = [
    "SparseTensor", "add", "concat", "expand_dims", "eye", "fill_empty_rows", "from_dense", "mask", "matmul",
    "maximum", "merge", "minimum", "placeholder", "reduce_max", "reduce_max_sparse", "reduce_sum",
    "reduce_sum_sparse", "reorder", "reset_shape", "reshape", "retain", "segment_mean", "segment_sqrt_n",
    "segment_sum", "slice", "softmax", "sparse_dense_matmul", "split", "to_dense", "to_indicator",
    "transpose",
]  # fmt: skip
