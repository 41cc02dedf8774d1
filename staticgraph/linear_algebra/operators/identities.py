"""Operators of which only the sizes are known: identities, multiples of them, and zeros."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import broadcast_static_shape, concat, expand_dims, shape, stack
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import ones, zeros
from staticgraph.building.conversion import convert_to_tensor
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import identity, no_op
from staticgraph.compiler.graph.dtypes import as_dtype, float32
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal, assert_positive
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators.algebra import rule
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.eigenvalues import assert_no_zero, assert_real
from staticgraph.linear_algebra.operators.matrices import with_diagonal_added
from staticgraph.linear_algebra.operators.parameters import always, copied, parameter, whole_numbers
from staticgraph.mathematics.math_ops import abs as absolute
from staticgraph.mathematics.math_ops import conj, log, real, sqrt
from staticgraph.mathematics.reductions import reduce_min


class _OfSizes(LinearOperator):
    """An operator that has a number of rows and of columns, and may have a batch shape."""

    _batch: tuple[Tensor, Any] | None = None

    def _take_sizes(
        self, num_rows: Any, num_columns: Any, batch_shape: Any, assert_proper_shapes: bool
    ) -> None:
        self._checks = assert_proper_shapes
        self._rows = whole_numbers(num_rows, "num_rows", 0, assert_proper_shapes)
        self._columns = self._rows
        if num_columns is not None:
            self._columns = whole_numbers(num_columns, "num_columns", 0, assert_proper_shapes)
        if batch_shape is not None:
            self._batch = whole_numbers(batch_shape, "batch_shape", 1, assert_proper_shapes)

    def _batch_of_matrices(self) -> TensorShape:
        if self._batch is None:
            return TensorShape([])
        tensor, known = self._batch
        if known is not None:
            return TensorShape([int(size) for size in known])
        return (
            TensorShape([None] * tensor.shape[0].value)
            if tensor.shape.is_fully_defined()
            else TensorShape(None)
        )

    def _shape(self) -> TensorShape:
        sizes = (None if known is None else int(known) for _, known in (self._rows, self._columns))
        return self._batch_of_matrices().concatenate(TensorShape(list(sizes)))

    def _shape_tensor(self) -> Tensor:
        matrix = stack([self._rows[0], self._columns[0]], axis=0)
        return matrix if self._batch is None else concat([self._batch[0], matrix], 0)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum of the operator's matrix and `mat`, whose shapes broadcast."""
        return super().add_to_tensor(mat, name)

    def _of_batch(self, make: Any) -> Tensor:
        """Return ones or zeros, one for each matrix."""
        known = self.batch_shape
        return make(known if known.is_fully_defined() else self.batch_shape_tensor(), dtype=self.dtype)

    def _of_diagonal(self, make: Any) -> Tensor:
        """Return ones or zeros, one for each number of the diagonals."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is not None and columns is not None and self.batch_shape.is_fully_defined():
            return make([*self.batch_shape.as_list(), min(rows, columns)], dtype=self.dtype)
        least = reduce_min(self.shape_tensor()[-2:])
        return make(concat([self.batch_shape_tensor(), [least]], axis=0), dtype=self.dtype)

    def _diagonal_length(self) -> Tensor | int:
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is not None and columns is not None:
            return min(rows, columns)
        return cast(reduce_min(self.shape_tensor()[-2:]), self.dtype)

    def _checked(self, x: Any, adjoint: bool = False) -> Any:
        """Return a factor; if shapes are to be checked, the graph compares its rows with the columns here."""
        if not self._checks:
            return x
        wanted = self.range_dimension_tensor() if adjoint else self.domain_dimension_tensor()
        message = f"{self.name}: the other matrix has another number of rows than this one has columns"
        with control_dependencies([assert_equal(shape(x)[-2], wanted, message=message)]):
            return identity(x)

    def _in_batch(self, x: Any) -> Any:
        """Return `x`, broadcast to the batch shape of this operator."""
        if self._batch is None:
            return x
        batch = self.batch_shape
        if batch.is_fully_defined():
            known = x.shape
            if known.ndims is not None and known[:-2].is_fully_defined():
                if broadcast_static_shape(known[:-2], batch).as_list() == known[:-2].as_list():
                    return x
            return x + zeros([*batch.as_list(), 1, 1], dtype=self.dtype)
        return x + zeros(concat([self.batch_shape_tensor(), [1, 1]], 0), dtype=self.dtype)


class LinearOperatorIdentity(_OfSizes):
    """The identity matrix, or a batch of them.

    Args:
        num_rows: Number of rows and columns: a number, or an integer tensor.
        batch_shape: Shape of the batch. Default: no batch.
        dtype: Element type. Default: float32.
        is_non_singular: True.
        is_self_adjoint: True.
        is_positive_definite: True.
        is_square: True.
        assert_proper_shapes: If the graph checks what is known only when it runs.
        name: Name of the operator.

    >>> sg.Session().run(sg.linalg.LinearOperatorIdentity(2).add_to_tensor([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 2.],
           [3., 5.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool = True,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = True,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        what = "an identity operator"
        with name_scope(name):
            super().__init__(
                as_dtype(dtype or float32),
                None,
                always(what, "is_non_singular", bool(is_non_singular)),
                always(what, "is_self_adjoint", bool(is_self_adjoint)),
                always(what, "is_positive_definite", bool(is_positive_definite)),
                always(what, "is_square", bool(is_square)),
                name,
            )
            self._take_sizes(num_rows, None, batch_shape, assert_proper_shapes)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._in_batch(self._checked(linalg.adjoint(x) if adjoint_arg else x))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Tensor:
        return self._diagonal_length() * self._of_batch(ones)

    def _diag_part(self) -> Tensor:
        return self._of_diagonal(ones)

    def _add_to_tensor(self, x: Any) -> Tensor:
        return with_diagonal_added(self._in_batch(x), convert_to_tensor(1, dtype=self.dtype))

    def _assert_non_singular(self) -> Any:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")


class LinearOperatorScaledIdentity(_OfSizes):
    """A multiple of the identity matrix, or a batch of them.

    Args:
        num_rows: Number of rows and columns: a number, or an integer tensor.
        multiplier: Tensor of the shape of the batch.
        is_non_singular: If no factor is zero.
        is_self_adjoint: If the factors are real; always True for a real element type.
        is_positive_definite: If their real parts are positive.
        is_square: True.
        assert_proper_shapes: If the graph checks what is known only when it runs.
        name: Name of the operator.

    >>> sg.Session().run(sg.linalg.LinearOperatorScaledIdentity(2, 3.0).to_dense())
    array([[3., 0.],
           [0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = parameter(multiplier, "multiplier", 0)
            if not self._multiplier.dtype.is_complex:
                is_self_adjoint = always("a real diagonal operator", "is_self_adjoint", is_self_adjoint)
            is_square = always("a scaled identity", "is_square", bool(is_square))
            dtype = self._multiplier.dtype.base_dtype
            super().__init__(
                dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
            )
            self._take_sizes(num_rows, None, None, assert_proper_shapes)
            self._count = cast(self._rows[0], self.dtype)
            self._real_count = cast(self._rows[0], self.dtype.real_dtype)

    @property
    def multiplier(self) -> Any:
        """The factors."""
        return self._multiplier

    def _batch_of_matrices(self) -> TensorShape:
        return self._multiplier.shape

    def _shape_tensor(self) -> Tensor:
        return concat([shape(self._multiplier), stack([self._rows[0]] * 2, axis=0)], 0)

    def _factors(self, adjoint: bool) -> Any:
        factors = expand_dims(expand_dims(self._multiplier, -1), -1)
        return conj(factors) if adjoint else factors

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._checked(linalg.adjoint(x) if adjoint_arg else x) * self._factors(adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._checked(linalg.adjoint(rhs) if adjoint_arg else rhs) / self._factors(adjoint)

    def _determinant(self) -> Tensor:
        return self._multiplier**self._count

    def _log_abs_determinant(self) -> Tensor:
        return self._real_count * log(absolute(self._multiplier))

    def _trace(self) -> Tensor:
        return self._multiplier * self._diagonal_length() * self._of_batch(ones)

    def _diag_part(self) -> Tensor:
        return self._of_diagonal(ones) * expand_dims(self._multiplier, -1)

    def _add_to_tensor(self, x: Any) -> Tensor:
        return with_diagonal_added(x, expand_dims(self._multiplier, -1))

    def _assert_non_singular(self) -> Any:
        return assert_no_zero(self._multiplier, f"{self.name} is singular: a factor is zero")

    def _assert_positive_definite(self) -> Any:
        message = f"{self.name} is not positive definite: a factor is not positive"
        return assert_positive(real(self._multiplier), message=message)

    def _assert_self_adjoint(self) -> Any:
        return assert_real(self._multiplier, f"{self.name} is not self-adjoint: a factor is not real")


class LinearOperatorZeros(_OfSizes):
    """A matrix of zeros, or a batch of them.

    Args:
        num_rows: Number of rows: a number, or an integer tensor.
        num_columns: Number of columns. Default: that of rows.
        batch_shape: Shape of the batch. Default: no batch.
        dtype: Element type. Default: float32.
        is_non_singular: False.
        is_self_adjoint: True, unless the matrix is not square.
        is_positive_definite: False.
        is_square: If there are as many rows as columns.
        assert_proper_shapes: If the graph checks what is known only when it runs.
        name: Name of the operator.

    >>> sg.Session().run(sg.linalg.LinearOperatorZeros(2).trace())
    np.float32(0.0)
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool = False,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = False,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        what = "a zero operator"
        with name_scope(name):
            if is_square:
                always(what, "is_self_adjoint", bool(is_self_adjoint))
            always(what, "is_non_singular", bool(is_non_singular), holds=False)
            always(what, "is_positive_definite", bool(is_positive_definite), holds=False)
            super().__init__(as_dtype(dtype or float32), None, False, is_self_adjoint, False, is_square, name)
            self._take_sizes(num_rows, num_columns, batch_shape, assert_proper_shapes)
            known = self._rows[1], self._columns[1]
            if is_square and None not in known and known[0] != known[1]:
                text = f"a zero operator of {known[0]} rows and {known[1]} columns is not square"
                raise misuse(ValueError, text, "give is_square=False and is_self_adjoint=False")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = self._checked(linalg.adjoint(x) if adjoint_arg else x, adjoint)
        rows = self._columns[0] if adjoint else self._rows[0]
        sizes = shape(x)
        return self._in_batch(
            zeros(concat([sizes[:-2], [cast(rows, sizes.dtype)], sizes[-1:]], 0), dtype=x.dtype)
        )

    def _determinant(self) -> Tensor:
        return self._of_batch(zeros)

    _trace = _determinant

    def _diag_part(self) -> Tensor:
        return self._of_diagonal(zeros)

    def _add_to_tensor(self, x: Any) -> Any:
        return self._in_batch(x)

    def _assert_non_singular(self) -> Any:
        raise InvalidArgumentError(f"{self.name} is zero: it never has an inverse")

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError(f"{self.name} is zero: it is never positive definite")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")


@rule("inverse", LinearOperatorIdentity)
@rule("adjoint", LinearOperatorIdentity)
@rule("cholesky", LinearOperatorIdentity)
def _itself(operator: LinearOperatorIdentity) -> LinearOperatorIdentity:
    return operator


def _scaled(
    operator: LinearOperatorScaledIdentity, multiplier: Any, **hints: bool | None
) -> LinearOperatorScaledIdentity:
    return LinearOperatorScaledIdentity(operator._rows[0], multiplier, **{**copied(operator), **hints})


@rule("adjoint", LinearOperatorScaledIdentity)
def _adjoint_of_scaled(operator: LinearOperatorScaledIdentity) -> LinearOperatorScaledIdentity:
    return _scaled(operator, conj(operator.multiplier))


@rule("inverse", LinearOperatorScaledIdentity)
def _inverse_of_scaled(operator: LinearOperatorScaledIdentity) -> LinearOperatorScaledIdentity:
    return _scaled(operator, 1.0 / operator.multiplier)


@rule("cholesky", LinearOperatorScaledIdentity)
def _cholesky_of_scaled(operator: LinearOperatorScaledIdentity) -> LinearOperatorScaledIdentity:
    return _scaled(operator, sqrt(operator.multiplier), is_non_singular=True)
