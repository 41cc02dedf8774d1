"""An operator and a matrix of low rank: L + U D V^H."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, shape
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.identities import LinearOperatorIdentity
from staticgraph.linear_algebra.operators.matrices import LinearOperatorDiag
from staticgraph.linear_algebra.operators.parameters import (
    always,
    common_batch,
    common_batch_tensor,
    parameter,
)
from staticgraph.mathematics.math_ops import abs as absolute
from staticgraph.mathematics.math_ops import exp, log
from staticgraph.mathematics.reductions import reduce_sum


class LinearOperatorLowRankUpdate(LinearOperator):
    """The sum of an operator L and a matrix of low rank, U D V^H with a diagonal D.

    Systems and determinants take those of L and of a matrix as small as the rank (Woodbury's identity).

    Args:
        base_operator: L, with N rows and columns.
        u: Tensor of shape [..., N, K].
        diag_update: The diagonal of D, of shape [..., K]. Default: ones.
        v: Tensor of shape [..., N, K]. Default: `u`.
        is_diag_update_positive: If all numbers of `diag_update` are positive.
        is_non_singular: If it has an inverse.
        is_self_adjoint: If it is self-adjoint; always True if L is, for a real element type without `v`.
        is_positive_definite: If it is positive definite; always True if L and D are, without `v`.
        is_square: If it is square.
        name: Name of the operator.

    Raises:
        ValueError: If shapes do not fit, or if hints contradict each other.

    >>> operator = sg.linalg.LinearOperatorLowRankUpdate(sg.linalg.LinearOperatorIdentity(2), [[1.0], [2.0]])
    >>> sg.Session().run(operator.to_dense())
    array([[2., 2.],
           [2., 5.]], dtype=float32)
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        base = base_operator
        if diag_update is None:
            what = "an update without diag_update"
            is_diag_update_positive = always(what, "is_diag_update_positive", is_diag_update_positive)
        if base.is_self_adjoint and v is None and not base.dtype.is_complex:
            what = "a self-adjoint operator with a symmetric update"
            is_self_adjoint = always(what, "is_self_adjoint", is_self_adjoint)
        positive = base.is_positive_definite and base.is_self_adjoint and is_diag_update_positive
        self._use_cholesky = bool(positive and v is None)
        if self._use_cholesky:
            what = "a positive definite operator with a positive update"
            is_non_singular = always(what, "is_non_singular", is_non_singular)
            is_self_adjoint = always(what, "is_self_adjoint", is_self_adjoint)
            is_positive_definite = always(what, "is_positive_definite", is_positive_definite)
        with name_scope(name, values=[*base.graph_parents, u, diag_update, v]):
            self._base_operator = base
            self._u = parameter(u, "u", 2)
            self._v = self._u if v is None else parameter(v, "v", 2)
            self._diag_update = None if diag_update is None else parameter(diag_update, "diag_update", 1)
            parents = [each for each in (self._u, self._diag_update, self._v) if each is not None]
            super().__init__(
                base.dtype,
                [*base.graph_parents, *parents],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )
            self._diag_operator = self._middle(is_diag_update_positive)
            self._is_diag_update_positive = is_diag_update_positive
            self._check_shapes()

    def _middle(self, is_positive: bool | None) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=is_positive)
        rank = None if self._u.shape.ndims is None else self._u.shape[-1].value
        return LinearOperatorIdentity(shape(self._u)[-1] if rank is None else rank, dtype=self.dtype)

    def _check_shapes(self) -> None:
        columns = {"base_operator": self.base_operator.domain_dimension.value}
        for name, tensor, axis in (("u", self._u, -2), ("v", self._v, -2)):
            columns[name] = None if tensor.shape.ndims is None else tensor.shape[axis].value
        ranks = {
            name: None if x.shape.ndims is None else x.shape[-1].value
            for name, x in (("u", self._u), ("v", self._v))
        }
        if self._diag_update is not None and self._diag_update.shape.ndims is not None:
            ranks["diag_update"] = self._diag_update.shape[-1].value
        for what, sizes in (("rows", columns), ("rank", ranks)):
            if len({size for size in sizes.values() if size is not None}) > 1:
                found = ", ".join(f"{size} of {name}" for name, size in sizes.items())
                raise misuse(ValueError, f"{self.name}: the {what} must be one number, and is {found}")

    @property
    def base_operator(self) -> LinearOperator:
        """L in L + U D V^H."""
        return self._base_operator

    @property
    def u(self) -> Any:
        """U in L + U D V^H."""
        return self._u

    @property
    def v(self) -> Any:
        """V in L + U D V^H."""
        return self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D in L + U D V^H, None for ones."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """D in L + U D V^H, as an operator."""
        return self._diag_operator

    @property
    def is_diag_update_positive(self) -> bool | None:
        """The hint if the diagonal of D is positive."""
        return self._is_diag_update_positive

    def _shape(self) -> TensorShape:
        base = self.base_operator
        if self._u.shape.ndims is None or base.shape.ndims is None:
            return TensorShape(None)
        return common_batch([base.batch_shape, self._u.shape[:-2]]).concatenate(base.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        base = self.base_operator
        batch = common_batch_tensor([base.batch_shape_tensor(), shape(self._u)[:-2]])
        return concat([batch, base.shape_tensor()[-2:]], axis=0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        base = self.base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = linalg.matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return base + linalg.matmul(left, self.diag_operator.matmul(inner, adjoint=adjoint))

    def _capacitance(self) -> Tensor:
        """Return D^-1 + V^H L^-1 U, which is as small as the rank."""
        inner = linalg.matmul(self.v, self.base_operator.solve(self.u), adjoint_a=True)
        return self.diag_operator.inverse().add_to_tensor(inner)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        base = self.base_operator
        if base.is_non_singular is False:
            raise misuse(
                ValueError, f"{self.name}: {base.name} is singular by its hints: there is no quick solution"
            )
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        solution = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = linalg.matmul(right, solution, adjoint_a=True)
        if self._use_cholesky:
            inner = linalg.cholesky_solve(linalg.cholesky(self._capacitance()), inner)
        else:
            inner = linalg.solve(self._capacitance(), inner, adjoint=adjoint)
        return solution - base.solve(linalg.matmul(left, inner), adjoint=adjoint)

    def _determinant(self) -> Tensor:
        if self._has_cholesky():
            return exp(self.log_abs_determinant())
        parts = self.diag_operator.determinant() * self.base_operator.determinant()
        return linalg.det(self._capacitance()) * parts

    def _log_abs_determinant(self) -> Tensor:
        parts = self.diag_operator.log_abs_determinant() + self.base_operator.log_abs_determinant()
        if self._use_cholesky:
            diagonal = linalg.diag_part(linalg.cholesky(self._capacitance()))
            return parts + 2 * reduce_sum(log(diagonal), axis=[-1])
        inner = log(absolute(linalg.det(self._capacitance())))
        return parts + (cast(inner, self.dtype) if self.dtype.is_complex else inner)
