"""Linear algebra, with TensorFlow 1's names: `sg.linalg`.

`linalg.py` has the functions and `operators` the classes; the other files are parts that both are made of.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.linear_algebra.linalg": (
            "adjoint band_part cholesky cholesky_solve cross det diag diag_part eigh eigvalsh einsum "
            "expm eye global_norm inv l2_normalize logdet lstsq lu matmul matrix_rank "
            "matrix_transpose matvec norm normalize pinv qr set_diag slogdet solve sqrtm svd "
            "tensor_diag tensor_diag_part tensordot trace transpose triangular_solve "
            "tridiagonal_matmul tridiagonal_solve"
        ),
        "staticgraph.linear_algebra.operators": (
            "LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant "
            "LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition "
            "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder "
            "LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker "
            "LinearOperatorLowRankUpdate LinearOperatorLowerTriangular LinearOperatorScaledIdentity "
            "LinearOperatorToeplitz LinearOperatorZeros"
        ),
    },
)
