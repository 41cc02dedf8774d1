"""Sparse tensors, with TensorFlow 1's names: `sg.sparse`."""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names

# For type checkers. A program imports what it uses, by the table below.
if TYPE_CHECKING:
    from staticgraph.mathematics.sparse_segments import sparse_segment_mean as segment_mean
    from staticgraph.mathematics.sparse_segments import sparse_segment_sqrt_n as segment_sqrt_n
    from staticgraph.mathematics.sparse_segments import sparse_segment_sum as segment_sum
    from staticgraph.sparse.math import *
    from staticgraph.sparse.math import matmul as sparse_dense_matmul
    from staticgraph.sparse.structure import *
    from staticgraph.sparse.tensor import *
    from staticgraph.sparse.tensor import sparse_placeholder as placeholder

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "staticgraph.mathematics.sparse_segments": (
            "segment_mean=sparse_segment_mean segment_sqrt_n=sparse_segment_sqrt_n "
            "segment_sum=sparse_segment_sum"
        ),
        "staticgraph.sparse.math": (
            "add matmul maximum minimum reduce_max reduce_max_sparse reduce_sum reduce_sum_sparse softmax "
            "sparse_dense_matmul=matmul"
        ),
        "staticgraph.sparse.structure": (
            "concat expand_dims eye fill_empty_rows from_dense mask merge reorder reset_shape reshape retain "
            "slice split to_dense to_indicator transpose"
        ),
        "staticgraph.sparse.tensor": "placeholder=sparse_placeholder SparseTensor",
    },
)
