"""Operators whose eigenvalues are known, such as diagonal and circulant matrices."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import zeros
from staticgraph.building.inputs import no_op
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal, assert_less, assert_positive
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.mathematics.math_ops import abs as absolute
from staticgraph.mathematics.math_ops import imag, log, real
from staticgraph.mathematics.reductions import reduce_prod, reduce_sum


def assert_no_zero(values: Any, message: str) -> Any:
    """Return an operation that fails if a number is zero."""
    return assert_less(zeros([], values.dtype.real_dtype), absolute(values), message=message)


def assert_real(values: Any, message: str) -> Any:
    """Return an operation that fails if a number has an imaginary part."""
    if not values.dtype.is_complex:
        return no_op()
    return assert_equal(imag(values), zeros([], values.dtype.real_dtype), message=message)


class OfEigenvalues(LinearOperator):
    """Base class of operators that hold their eigenvalues, along the last axes of one tensor."""

    _eigenvalues: Any
    _DEPTH = 1  # the number of these axes
    _NUMBER = "an eigenvalue"  # what one of them is called in messages

    def _over_eigenvalues(self, reduction: Any, values: Any) -> Tensor:
        return cast(reduction(values, axis=[-1 - axis for axis in range(self._DEPTH)]), self.dtype)

    def _determinant(self) -> Tensor:
        return self._over_eigenvalues(reduce_prod, self._eigenvalues)

    def _log_abs_determinant(self) -> Tensor:
        return self._over_eigenvalues(reduce_sum, log(absolute(self._eigenvalues)))

    def _assert_non_singular(self) -> Any:
        return assert_no_zero(self._eigenvalues, f"{self.name} is singular: {self._NUMBER} is zero")

    def _assert_positive_definite(self) -> Any:
        message = f"{self.name} is not positive definite: {self._NUMBER} is not positive"
        return assert_positive(real(self._eigenvalues), message=message)

    def _assert_self_adjoint(self) -> Any:
        return assert_real(self._eigenvalues, f"{self.name} is not self-adjoint: {self._NUMBER} is not real")
