"""Linear operators: matrices that are known by what they do (TF1's `tf.linalg.LinearOperator...`).

`base.py` has what all of them share, and `algebra.py` the tables by which operators make others.
"""

from staticgraph.compiler.support.lazy_names import lazy_names, load

# They have the rules by which operators make others.
load("staticgraph.linear_algebra.operators.derived")
load("staticgraph.linear_algebra.operators.products")

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.linear_algebra.operators.base": "LinearOperator",
        "staticgraph.linear_algebra.operators.circulant": (
            "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D "
            "LinearOperatorToeplitz"
        ),
        "staticgraph.linear_algebra.operators.combined": (
            "LinearOperatorBlockDiag LinearOperatorComposition"
        ),
        "staticgraph.linear_algebra.operators.derived": "LinearOperatorAdjoint LinearOperatorInversion",
        "staticgraph.linear_algebra.operators.identities": (
            "LinearOperatorIdentity LinearOperatorScaledIdentity LinearOperatorZeros"
        ),
        "staticgraph.linear_algebra.operators.kronecker": "LinearOperatorKronecker",
        "staticgraph.linear_algebra.operators.low_rank": "LinearOperatorLowRankUpdate",
        "staticgraph.linear_algebra.operators.matrices": (
            "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder "
            "LinearOperatorLowerTriangular"
        ),
    },
)
