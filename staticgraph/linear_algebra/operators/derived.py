"""Operators that stand for the adjoint or the inverse of another one."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators.algebra import rule
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.parameters import copied, of_one
from staticgraph.mathematics.math_ops import conj


class _Derived(LinearOperator):
    """An operator that has the hints of another one."""

    _SUFFIX = ""
    _WHAT = ""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        name = name or operator.name + self._SUFFIX
        with name_scope(name, values=operator.graph_parents):
            parents = operator.graph_parents
            super().__init__(operator.dtype, parents, **of_one(operator, self._WHAT, given), name=name)

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one is made of."""
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self.operator.assert_self_adjoint()


class LinearOperatorAdjoint(_Derived):
    """The conjugate transpose of an operator.

    Args:
        operator: The operator.
        is_non_singular: If it has an inverse. Default of this and the other hints: as the operator.
        is_self_adjoint: If it is self-adjoint.
        is_positive_definite: If it is positive definite.
        is_square: If it is square.
        name: Name of this operator. Default: the operator's, and "_adjoint".

    Raises:
        ValueError: If a hint contradicts one of the operator.

    >>> operator = sg.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> sg.Session().run(operator.adjoint().to_dense())
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """

    _SUFFIX = "_adjoint"
    _WHAT = "an adjoint"

    def _shape(self) -> TensorShape:
        known = self.operator.shape
        return known if known.ndims is None else known[:-2].concatenate([known[-1], known[-2]])

    def _shape_tensor(self) -> Tensor:
        sizes = self.operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], axis=-1)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Tensor:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self) -> Tensor:
        return self._conjugated(self.operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return self._conjugated(self.operator.trace())

    def _diag_part(self) -> Tensor:
        return self._conjugated(self.operator.diag_part())

    def _conjugated(self, value: Tensor) -> Tensor:
        return value if self.is_self_adjoint else conj(value)

    def _to_dense(self) -> Tensor:
        dense = self.operator.to_dense()
        return dense if self.is_self_adjoint else linalg.adjoint(dense)


class LinearOperatorInversion(_Derived):
    """The inverse of an operator, which solves systems in place of products.

    Args:
        operator: The operator.
        is_non_singular: True or None.
        is_self_adjoint: If it is self-adjoint. Default of this and the other hints: as the operator.
        is_positive_definite: If it is positive definite.
        is_square: True or None.
        name: Name of this operator. Default: the operator's, and "_inv".

    Raises:
        ValueError: If the operator is singular or not square by its hints, or if hints contradict its own.

    >>> operator = sg.linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [2.0, 4.0]])
    >>> sg.Session().run(operator.inverse().to_dense())
    array([[ 0.5 ,  0.  ],
           [-0.25,  0.25]], dtype=float32)
    """

    _SUFFIX = "_inv"
    _WHAT = "an inverse"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        for hint, own in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            if own is False or getattr(operator, hint) is False:
                raise misuse(ValueError, f"{operator.name} has no inverse: {hint} is False")
        super().__init__(operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> Tensor:
        return self.operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self.operator.log_abs_determinant()


@rule("adjoint", LinearOperator)
def _adjoint(operator: LinearOperator) -> LinearOperatorAdjoint:
    return LinearOperatorAdjoint(operator, **copied(operator))


@rule("inverse", LinearOperator)
def _inverse(operator: LinearOperator) -> LinearOperatorInversion:
    return LinearOperatorInversion(operator, **copied(operator))


@rule("adjoint", LinearOperatorAdjoint)
@rule("inverse", LinearOperatorInversion)
def _inner(operator: Any) -> LinearOperator:
    return operator.operator
