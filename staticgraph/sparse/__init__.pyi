"""Sparse tensors, with TensorFlow 1's names: `sg.sparse`. Made by tools/type_stubs.py."""

from staticgraph.mathematics.sparse_segments import (
    sparse_segment_mean as _segment_mean,
    sparse_segment_sqrt_n as _segment_sqrt_n,
    sparse_segment_sum as _segment_sum,
)
from staticgraph.sparse.math import (
    add as add,
    matmul as matmul,
    maximum as maximum,
    minimum as minimum,
    reduce_max as reduce_max,
    reduce_max_sparse as reduce_max_sparse,
    reduce_sum as reduce_sum,
    reduce_sum_sparse as reduce_sum_sparse,
    softmax as softmax,
    matmul as _sparse_dense_matmul,
)
from staticgraph.sparse.structure import (
    concat as concat,
    expand_dims as expand_dims,
    eye as eye,
    fill_empty_rows as fill_empty_rows,
    from_dense as from_dense,
    mask as mask,
    merge as merge,
    reorder as reorder,
    reset_shape as reset_shape,
    reshape as reshape,
    retain as retain,
    slice as slice,
    split as split,
    to_dense as to_dense,
    to_indicator as to_indicator,
    transpose as transpose,
)
from staticgraph.sparse.tensor import (
    SparseTensor as SparseTensor,
    sparse_placeholder as _placeholder,
)

placeholder = _placeholder
segment_mean = _segment_mean
segment_sqrt_n = _segment_sqrt_n
segment_sum = _segment_sum
sparse_dense_matmul = _sparse_dense_matmul
