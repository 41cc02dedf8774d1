"""Sparse tensors, with TensorFlow 1's names: `sg.sparse`."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
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
