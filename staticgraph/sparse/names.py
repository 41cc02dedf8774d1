"""The functions of `sg.sparse` under the names that they have beside all others, such as `sg.sparse_add`."""

from staticgraph.sparse.distance import edit_distance
from staticgraph.sparse.math import add as sparse_add
from staticgraph.sparse.math import matmul as sparse_tensor_dense_matmul
from staticgraph.sparse.math import maximum as sparse_maximum
from staticgraph.sparse.math import minimum as sparse_minimum
from staticgraph.sparse.math import reduce_max as sparse_reduce_max
from staticgraph.sparse.math import reduce_max_sparse as sparse_reduce_max_sparse
from staticgraph.sparse.math import reduce_sum as sparse_reduce_sum
from staticgraph.sparse.math import reduce_sum_sparse as sparse_reduce_sum_sparse
from staticgraph.sparse.math import softmax as sparse_softmax
from staticgraph.sparse.structure import concat as sparse_concat
from staticgraph.sparse.structure import fill_empty_rows as sparse_fill_empty_rows
from staticgraph.sparse.structure import mask as sparse_mask
from staticgraph.sparse.structure import merge as sparse_merge
from staticgraph.sparse.structure import reorder as sparse_reorder
from staticgraph.sparse.structure import reset_shape as sparse_reset_shape
from staticgraph.sparse.structure import reshape as sparse_reshape
from staticgraph.sparse.structure import retain as sparse_retain
from staticgraph.sparse.structure import slice as sparse_slice
from staticgraph.sparse.structure import sparse_to_dense
from staticgraph.sparse.structure import split as sparse_split
from staticgraph.sparse.structure import to_dense as sparse_tensor_to_dense
from staticgraph.sparse.structure import to_indicator as sparse_to_indicator
from staticgraph.sparse.structure import transpose as sparse_transpose
from staticgraph.sparse.tensor import (
    SparseTensor,
    SparseTensorValue,
    convert_to_tensor_or_sparse_tensor,
    sparse_placeholder,
)

__all__ = [
    "SparseTensor", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor", "edit_distance",
    "sparse_add", "sparse_concat", "sparse_fill_empty_rows", "sparse_mask", "sparse_maximum",
    "sparse_merge", "sparse_minimum", "sparse_placeholder", "sparse_reduce_max",
    "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder",
    "sparse_reset_shape", "sparse_reshape", "sparse_retain", "sparse_slice", "sparse_softmax",
    "sparse_split", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense",
    "sparse_to_indicator", "sparse_transpose",
]
