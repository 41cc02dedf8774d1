"""Products of two operators, as operators: of a kind of its own if there is one, else a composition."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.linear_algebra.operators.algebra import rule
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.circulant import LinearOperatorCirculant
from staticgraph.linear_algebra.operators.combined import LinearOperatorComposition
from staticgraph.linear_algebra.operators.identities import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from staticgraph.linear_algebra.operators.matrices import LinearOperatorDiag, LinearOperatorLowerTriangular


def _both(left: Any, right: Any, hint: str) -> bool | None:
    """Return True if both operators have a hint, and what follows if they do not: nothing."""
    return True if getattr(left, hint) and getattr(right, hint) else None


def _non_singular(left: Any, right: Any) -> bool | None:
    if left.is_non_singular is False or right.is_non_singular is False:
        return False
    return _both(left, right, "is_non_singular")


def _commuting(left: Any, right: Any) -> dict[str, Any]:
    """Return the hints of a product of operators that commute."""
    adjoint = _both(left, right, "is_self_adjoint")
    return {
        "is_non_singular": _non_singular(left, right),
        "is_self_adjoint": adjoint,
        "is_positive_definite": _both(left, right, "is_positive_definite") if adjoint else None,
        "is_square": True,
    }


@rule("product", LinearOperator, LinearOperator)
def _composition(left: Any, right: Any) -> LinearOperator:
    square = _both(left, right, "is_square")
    non_singular = _non_singular(left, right) if square else None
    return LinearOperatorComposition([left, right], is_non_singular=non_singular, is_square=square)


@rule("product", LinearOperatorIdentity, LinearOperator)
def _of_identity(left: Any, right: Any) -> LinearOperator:
    return right if left.batch_shape.ndims == 0 else _composition(left, right)


@rule("product", LinearOperator, LinearOperatorIdentity)
@rule("product", LinearOperatorIdentity, LinearOperatorIdentity)
def _with_identity(left: Any, right: Any) -> LinearOperator:
    return left if right.batch_shape.ndims == 0 else _composition(left, right)


@rule("product", LinearOperatorZeros, LinearOperator)
@rule("product", LinearOperatorZeros, LinearOperatorZeros)
@rule("product", LinearOperatorZeros, LinearOperatorIdentity)
def _of_zeros(left: Any, right: Any) -> LinearOperator:
    return _zeros(left, left, right)


@rule("product", LinearOperator, LinearOperatorZeros)
@rule("product", LinearOperatorIdentity, LinearOperatorZeros)
def _with_zeros(left: Any, right: Any) -> LinearOperator:
    return _zeros(right, left, right)


def _zeros(zeros: Any, left: Any, right: Any) -> LinearOperator:
    if not (left.is_square and right.is_square):
        raise misuse(ValueError, f"the product of {left.name} and {right.name} needs square operators")
    return zeros


@rule("product", LinearOperatorScaledIdentity, LinearOperatorScaledIdentity)
def _of_scaled(left: Any, right: Any) -> LinearOperator:
    factor = left.multiplier * right.multiplier
    return LinearOperatorScaledIdentity(left._rows[0], factor, **_commuting(left, right))


@rule("product", LinearOperatorDiag, LinearOperatorDiag)
def _of_diagonals(left: Any, right: Any) -> LinearOperator:
    return LinearOperatorDiag(left.diag * right.diag, **_commuting(left, right))


@rule("product", LinearOperatorDiag, LinearOperatorScaledIdentity)
def _diagonal_scaled(left: Any, right: Any) -> LinearOperator:
    return LinearOperatorDiag(left.diag * right.multiplier[..., None], **_commuting(left, right))


@rule("product", LinearOperatorScaledIdentity, LinearOperatorDiag)
def _scaled_diagonal(left: Any, right: Any) -> LinearOperator:
    return LinearOperatorDiag(left.multiplier[..., None] * right.diag, **_commuting(left, right))


@rule("product", LinearOperatorDiag, LinearOperatorLowerTriangular)
def _diagonal_triangular(left: Any, right: Any) -> LinearOperator:
    tril = left.diag[..., None] * right.to_dense()
    return LinearOperatorLowerTriangular(tril, is_non_singular=_non_singular(left, right))


@rule("product", LinearOperatorLowerTriangular, LinearOperatorDiag)
def _triangular_diagonal(left: Any, right: Any) -> LinearOperator:
    tril = left.to_dense() * right.diag[..., None, :]
    return LinearOperatorLowerTriangular(tril, is_non_singular=_non_singular(left, right))


@rule("product", LinearOperatorLowerTriangular, LinearOperatorLowerTriangular)
def _of_triangles(left: Any, right: Any) -> LinearOperator:
    tril = left.matmul(right.to_dense())
    return LinearOperatorLowerTriangular(tril, is_non_singular=_non_singular(left, right))


@rule("product", LinearOperatorCirculant, LinearOperatorCirculant)
def _of_circulants(left: Any, right: Any) -> LinearOperator:
    if type(left) is not type(right) or left.dtype != right.dtype:
        return _composition(left, right)
    return type(left)(left.spectrum * right.spectrum, left.dtype, **_commuting(left, right))
