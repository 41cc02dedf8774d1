"""Linear operators: matrices that are known by what they do (TF1's `tf.linalg.LinearOperator...`).

`base.py` has what all of them share, and `algebra.py` the tables by which operators make others.
 Made by tools/type_stubs.py."""

from staticgraph.linear_algebra.operators.base import (
    LinearOperator as LinearOperator,
)
from staticgraph.linear_algebra.operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
    LinearOperatorToeplitz as LinearOperatorToeplitz,
)
from staticgraph.linear_algebra.operators.combined import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
    LinearOperatorComposition as LinearOperatorComposition,
)
from staticgraph.linear_algebra.operators.derived import (
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorInversion as LinearOperatorInversion,
)
from staticgraph.linear_algebra.operators.identities import (
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorZeros as LinearOperatorZeros,
)
from staticgraph.linear_algebra.operators.kronecker import (
    LinearOperatorKronecker as LinearOperatorKronecker,
)
from staticgraph.linear_algebra.operators.low_rank import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from staticgraph.linear_algebra.operators.matrices import (
    LinearOperatorDiag as LinearOperatorDiag,
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorHouseholder as LinearOperatorHouseholder,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
