"""Operators that hold their numbers in one tensor: full and triangular matrices, diagonals, reflections."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, expand_dims, shape
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import matrix_band_part, ones, zeros
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import no_op
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators.algebra import rule
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.eigenvalues import OfEigenvalues, assert_no_zero
from staticgraph.linear_algebra.operators.parameters import always, copied, parameter
from staticgraph.mathematics.math_ops import abs as absolute
from staticgraph.mathematics.math_ops import conj, log, sqrt
from staticgraph.mathematics.reductions import reduce_prod, reduce_sum


class LinearOperatorFullMatrix(LinearOperator):
    """A matrix that is held in full.

    Args:
        matrix: Tensor of shape [..., M, N], of floating or complex numbers.
        is_non_singular: If it has an inverse.
        is_self_adjoint: If it is its own conjugate transpose.
        is_positive_definite: If it is positive definite. If self-adjoint, too, a Cholesky factor serves.
        is_square: If M is N.
        name: Name of the operator.

    >>> operator = sg.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> sg.Session().run(operator.determinant())
    np.float32(-2.0)
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with name_scope(name, values=[matrix]):
            self._matrix = parameter(matrix, "matrix", 2)
            if not (self._matrix.dtype.is_floating or self._matrix.dtype.is_complex):
                raise misuse(
                    TypeError, f"matrix must be of floating or complex numbers, not {self._matrix.dtype.name}"
                )
            super().__init__(
                self._matrix.dtype,
                [self._matrix],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return linalg.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """A lower triangular matrix. What stands above the diagonal of the given one is not looked at.

    Args:
        tril: Tensor of shape [..., N, N].
        is_non_singular: If no number of the diagonal is zero.
        is_self_adjoint: If it is diagonal and real.
        is_positive_definite: If it is positive definite.
        is_square: True or None.
        name: Name of the operator.

    >>> operator = sg.linalg.LinearOperatorLowerTriangular([[1.0, 9.0], [2.0, 3.0]])
    >>> sg.Session().run(operator.solvevec([1.0, 5.0]))
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        is_square = always("a lower triangular operator", "is_square", is_square)
        with name_scope(name, values=[tril]):
            self._tril = parameter(tril, "tril", 2)
            super().__init__(
                self._tril.dtype,
                [self._tril],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _to_dense(self) -> Tensor:
        return matrix_band_part(self._tril, -1, 0)

    def _diagonal(self) -> Tensor:
        return linalg.diag_part(self._tril)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return linalg.matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        return linalg.triangular_solve(self._to_dense(), rhs, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diagonal(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self._diagonal())), axis=[-1])

    def _assert_non_singular(self) -> Any:
        return assert_no_zero(self._diagonal(), f"{self.name} is singular: its diagonal has a zero")


class _OfVector(LinearOperator):
    """A square matrix that one vector tells."""

    _vector: Any

    def _shape(self) -> TensorShape:
        return self._vector.shape.concatenate(self._vector.shape[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._vector)
        return concat([sizes, sizes[-1:]], 0)


class LinearOperatorDiag(OfEigenvalues, _OfVector):
    """A diagonal matrix.

    Args:
        diag: Tensor of shape [..., N].
        is_non_singular: If no number is zero.
        is_self_adjoint: If the numbers are real; always True for a real element type.
        is_positive_definite: If the real parts are positive.
        is_square: True or None.
        name: Name of the operator.

    >>> operator = sg.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> sg.Session().run(operator.matmul([[1.0, 1.0], [1.0, 1.0]]))
    array([[1., 1.],
           [2., 2.]], dtype=float32)
    """

    _NUMBER = "a number of its diagonal"

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with name_scope(name, values=[diag]):
            self._vector = self._eigenvalues = parameter(diag, "diag", 1)
            if not self._vector.dtype.is_complex:
                is_self_adjoint = always("a real diagonal operator", "is_self_adjoint", is_self_adjoint)
            is_square = always("a diagonal operator", "is_square", is_square)
            super().__init__(
                self._vector.dtype,
                [self._vector],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    @property
    def diag(self) -> Any:
        """The diagonal."""
        return self._vector

    def _factors(self, adjoint: bool) -> Any:
        return conj(self._vector) if adjoint else self._vector

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return expand_dims(self._factors(adjoint), -1) * (linalg.adjoint(x) if adjoint_arg else x)

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return self._factors(adjoint) * x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        return rhs * expand_dims(1.0 / self._factors(adjoint), -1)

    def _to_dense(self) -> Tensor:
        return linalg.diag(self._vector)

    def _diag_part(self) -> Any:
        return self._vector

    def _add_to_tensor(self, x: Any) -> Tensor:
        return with_diagonal_added(x, self._vector)


def with_diagonal_added(matrix: Any, diagonal: Any) -> Tensor:
    """Return the sum of a matrix and a diagonal one."""
    total = diagonal + linalg.diag_part(matrix)
    if (
        total.shape.ndims is not None
        and matrix.shape.ndims is not None
        and total.shape.ndims >= matrix.shape.ndims
    ):
        return matrix + linalg.diag(diagonal)  # the batch of the diagonal is the larger one
    return linalg.set_diag(matrix, total)


class LinearOperatorHouseholder(_OfVector):
    """A reflection: I - 2 v v^H, for the direction v of a vector.

    Args:
        reflection_axis: Tensor of shape [..., N]: vectors of any length but zero.
        is_non_singular: True or None.
        is_self_adjoint: True or None.
        is_positive_definite: False or None.
        is_square: True or None.
        name: Name of the operator.

    >>> operator = sg.linalg.LinearOperatorHouseholder([0.0, 2.0])
    >>> sg.Session().run(operator.matvec([3.0, 4.0]))
    array([ 3., -4.], dtype=float32)
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        what = "a Householder operator"
        with name_scope(name, values=[reflection_axis]):
            self._vector = parameter(reflection_axis, "reflection_axis", 1)
            super().__init__(
                self._vector.dtype,
                [self._vector],
                always(what, "is_non_singular", is_non_singular),
                always(what, "is_self_adjoint", is_self_adjoint),
                always(what, "is_positive_definite", is_positive_definite, holds=False),
                always(what, "is_square", is_square),
                name,
            )

    @property
    def reflection_axis(self) -> Any:
        """The vector that the operator turns round."""
        return self._vector

    def _direction(self) -> Any:
        return self._vector / linalg.norm(self._vector, axis=-1, keepdims=True)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = linalg.adjoint(x) if adjoint_arg else x
        column = expand_dims(self._direction(), -1)
        return x - 2 * column * linalg.matmul(column, x, adjoint_a=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)  # its own inverse

    def _determinant(self) -> Tensor:
        return -ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor() - 2, self.dtype) * ones(
            self.batch_shape_tensor(), self.dtype
        )

    def _to_dense(self) -> Tensor:
        column = expand_dims(self._direction(), -1)
        return with_diagonal_added(-2 * linalg.matmul(column, column, adjoint_b=True), 1.0)

    def _diag_part(self) -> Tensor:
        direction = self._direction()
        return 1.0 - 2 * direction * conj(direction)

    def _assert_non_singular(self) -> Any:
        return no_op()

    def _assert_self_adjoint(self) -> Any:
        return no_op()

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError(f"{self.name} reflects: it is never positive definite")


@rule("inverse", LinearOperatorHouseholder)
@rule("adjoint", LinearOperatorHouseholder)
def _itself(operator: LinearOperatorHouseholder) -> LinearOperatorHouseholder:
    return operator


@rule("adjoint", LinearOperatorDiag)
def _adjoint_of_diagonal(operator: LinearOperatorDiag) -> LinearOperatorDiag:
    return LinearOperatorDiag(conj(operator.diag), **copied(operator))


@rule("inverse", LinearOperatorDiag)
def _inverse_of_diagonal(operator: LinearOperatorDiag) -> LinearOperatorDiag:
    return LinearOperatorDiag(1.0 / operator.diag, **copied(operator))


@rule("cholesky", LinearOperatorDiag)
def _cholesky_of_diagonal(operator: LinearOperatorDiag) -> LinearOperatorDiag:
    return LinearOperatorDiag(sqrt(operator.diag), True, True, True, True)


@rule("cholesky", LinearOperator)
def _cholesky(operator: LinearOperator) -> LinearOperatorLowerTriangular:
    return LinearOperatorLowerTriangular(linalg.cholesky(operator.to_dense()), True, False, None, True)
