"""`LinearOperator`: a matrix, or a batch of matrices, that is known by what it does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import expand_dims, shape, squeeze
from staticgraph.arrays.creation import eye
from staticgraph.building.conversion import convert_to_tensor
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import Dimension, TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal, assert_less, assert_positive
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators import algebra
from staticgraph.linear_algebra.operators.answers import ANSWERS
from staticgraph.linear_algebra.operators.parameters import implied
from staticgraph.mathematics.math_ops import abs as absolute
from staticgraph.mathematics.math_ops import exp, log
from staticgraph.mathematics.reductions import reduce_max, reduce_min, reduce_sum


class LinearOperator:
    """Base class of linear operators: matrices, or batches of them, that need not be held in full.

    A class of one's own defines `_shape`, `_shape_tensor` and `_matmul(x, adjoint, adjoint_arg)`. All other
    methods follow from these through the full matrix; a class with a better way defines `_solve`,
    `_determinant`, `_log_abs_determinant`, `_to_dense`, `_diag_part`, `_trace` or `_add_to_tensor`, which
    take what the public methods take, without a name.

    Hints are promises that choose algorithms. None of them is checked when the graph runs, unless the program
    asks for `assert_non_singular` and its like.

    Args:
        dtype: Element type of the matrix, and of what it is multiplied with.
        graph_parents: Tensors that the operator is made of.
        is_non_singular: If the matrix has an inverse.
        is_self_adjoint: If the matrix is its own conjugate transpose.
        is_positive_definite: If the real part of x^H A x is positive for all x other than zero.
        is_square: If the matrix has as many rows as columns.
        name: Name of the operator, under which its operations are made. Default: that of the class.

    Raises:
        ValueError: If hints contradict each other.

    >>> import staticgraph as sg
    >>> causal = sg.linalg.LinearOperatorLowerTriangular(sg.ones([3, 3])).to_dense()
    >>> sg.Session().run(causal)
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: Iterable[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        is_non_singular, is_square = implied(
            is_non_singular, is_self_adjoint, is_positive_definite, is_square
        )
        parents = list(graph_parents or ())
        for at, parent in enumerate(parents):
            if not hasattr(parent, "dtype") or not hasattr(parent, "shape"):
                raise misuse(ValueError, f"graph_parents: item {at} is {parent!r}, which is no tensor")
        self._dtype = as_dtype(dtype).base_dtype if dtype else dtype
        self._graph_parents = parents
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._square_hint = is_square
        self._name = name or type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    @property
    def dtype(self) -> DType:
        """The element type of the matrix."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name under which operations of this operator are made."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator is made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """The hint if the matrix has an inverse."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """The hint if the matrix is its own conjugate transpose."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """The hint if the matrix is positive definite."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """True or False if the hint or the sizes tell, else None."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        known = None if rows is None or columns is None else rows == columns
        if self._square_hint is False and known:
            raise misuse(
                ValueError, f"{self.name}: is_square is False, and the operator is square: {self.shape}"
            )
        return known if self._square_hint is None else self._square_hint

    def _scope(self, method: str | None) -> name_scope:
        return name_scope(self.name if method is None else f"{self.name}/{method}")

    # Shapes.

    def _shape(self) -> TensorShape:
        raise NotImplementedError(f"{type(self).__name__} does not define _shape")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _shape_tensor")

    @property
    def shape(self) -> TensorShape:
        """The shape of the batch, then rows and columns, as far as it is known."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch, as far as it is known."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The rank of the batch of matrices."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns, as far as it is known."""
        return Dimension(None) if self.shape.ndims is None else Dimension(self.shape[-1])

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows, as far as it is known."""
        return Dimension(None) if self.shape.ndims is None else Dimension(self.shape[-2])

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape as a tensor: a constant if it is known."""
        with self._scope(name):
            return self._sizes(self.shape, None)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape of the batch as a tensor."""
        with self._scope(name):
            return self._sizes(self.batch_shape, slice(None, -2))

    def _sizes(self, known: TensorShape, part: slice | int | None) -> Tensor:
        if known.is_fully_defined():
            return convert_to_tensor(
                known.as_list(), dtype=int32, name="shape" if part is None else "batch_shape"
            )
        return self._shape_tensor() if part is None else self.shape_tensor()[part]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Return the rank of the batch of matrices as a tensor."""
        with self._scope(name):
            rank = self.tensor_rank
            return shape(self.shape_tensor())[0] if rank is None else convert_to_tensor(rank)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of columns as a tensor."""
        with self._scope(name):
            columns = self.domain_dimension.value
            return self.shape_tensor()[-1] if columns is None else convert_to_tensor(columns)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of rows as a tensor."""
        with self._scope(name):
            rows = self.range_dimension.value
            return self.shape_tensor()[-2] if rows is None else convert_to_tensor(rows)

    # Products and systems.

    def _operand(self, value: Any, name: str, own: int, axis: int) -> Tensor:
        """Return an operand as a tensor whose `axis` fits this operator's axis `own`."""
        tensor = convert_to_tensor(value, name=name)
        if tensor.dtype.base_dtype != self.dtype:
            text = f"{self.name}: {name} is {tensor.dtype.name}, and the operator is {self.dtype.name}"
            raise misuse(TypeError, text, f"cast it: sg.cast({name}, operator.dtype)")
        mine = None if self.shape.ndims is None else Dimension(self.shape[own]).value
        given = None if tensor.shape.ndims is None else Dimension(tensor.shape[axis]).value
        if None not in (mine, given) and mine != given:
            text = f"{self.name}: {name} has shape {tensor.shape}, and the operator {self.shape}"
            raise misuse(ValueError, text, f"axis {axis} of {name} is {given}, and must be {mine}")
        return tensor

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _matmul")

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """Return the product of this operator and `x`.

        Args:
            x: A matrix, or a batch of them that broadcasts with this one, or another operator.
            adjoint: If the adjoint of this operator is meant.
            adjoint_arg: If the adjoint of `x` is meant.
            name: Name of the operations, below that of the operator.

        Returns:
            A tensor, or an operator if `x` is one.

        Raises:
            ValueError: If sizes do not fit.
            TypeError: If the element types differ.
        """
        if isinstance(x, LinearOperator):
            left, right = self._pair(x, adjoint, adjoint_arg)
            with self._scope(name):
                return algebra.product(left, right)
        with self._scope(name):
            x = self._operand(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _pair(
        self, x: LinearOperator, adjoint: bool, adjoint_arg: bool
    ) -> tuple[LinearOperator, LinearOperator]:
        left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
        inner = left.domain_dimension.value, right.range_dimension.value
        if None not in inner and inner[0] != inner[1]:
            text = f"operators of shapes {left.shape} and {right.shape} do not fit"
            raise misuse(ValueError, text, f"the second must have {inner[0]} rows")
        return left, right

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return squeeze(self.matmul(expand_dims(x, axis=-1), adjoint=adjoint), axis=-1)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Return the product of this operator, or of its adjoint, and a vector or a batch of vectors."""
        with self._scope(name):
            return self._matvec(self._operand(x, "x", -2 if adjoint else -1, -1), adjoint=adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        if self._has_cholesky():
            return linalg.cholesky_solve(linalg.cholesky(self.to_dense()), rhs)
        return linalg.solve(self.to_dense(), rhs, adjoint=adjoint)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """Return X with A X = rhs, for this operator A.

        Args:
            rhs: A matrix, or a batch of them that broadcasts with this one, or another operator.
            adjoint: If the adjoint of this operator is meant.
            adjoint_arg: If the adjoint of `rhs` is meant.
            name: Name of the operations, below that of the operator.

        Returns:
            A tensor, or an operator if `rhs` is one.

        Raises:
            NotImplementedError: If the operator is singular or not square by its hints.
            ValueError: If sizes do not fit.
        """
        self._must_be_solvable()
        if isinstance(rhs, LinearOperator):
            left, right = self._pair(rhs, adjoint, adjoint_arg)
            with self._scope(name):
                return algebra.product(algebra.inverse(left), right)
        with self._scope(name):
            rhs = self._operand(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _must_be_solvable(self) -> None:
        if self.is_non_singular is False:
            raise misuse(
                NotImplementedError, f"{self.name} is singular by its hints: there is no exact solution"
            )
        if self.is_square is False:
            raise misuse(
                NotImplementedError,
                f"{self.name} is not square: there is no exact solution",
                "sg.linalg.lstsq solves in the sense of least squares",
            )

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return squeeze(self.solve(expand_dims(rhs, axis=-1), adjoint=adjoint), axis=-1)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Return x with A x = rhs, for a vector `rhs` or a batch of vectors."""
        self._must_be_solvable()
        with self._scope(name):
            return self._solvevec(self._operand(rhs, "rhs", -1 if adjoint else -2, -1), adjoint=adjoint)

    # Numbers that belong to the matrix.

    def _has_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _must_be_square(self) -> None:
        if self.is_square is False:
            raise misuse(NotImplementedError, f"{self.name} is not square: it has no determinant")

    def _determinant(self) -> Tensor:
        return exp(self.log_abs_determinant()) if self._has_cholesky() else linalg.det(self.to_dense())

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant of each matrix. NotImplementedError if they are not square."""
        self._must_be_square()
        with self._scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> Tensor:
        if self._has_cholesky():
            return 2 * reduce_sum(log(linalg.diag_part(linalg.cholesky(self.to_dense()))), axis=[-1])
        return linalg.slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the determinant's absolute value, which neither over- nor underflows."""
        self._must_be_square()
        with self._scope(name):
            return self._log_abs_determinant()

    def _to_dense(self) -> Tensor:
        batch = self.batch_shape if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()
        known = self.domain_dimension.value
        columns = self.domain_dimension_tensor() if known is None else known
        return self.matmul(eye(columns, batch_shape=batch, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return the matrix, or the batch of them, in full."""
        with self._scope(name):
            return self._to_dense()

    def _diag_part(self) -> Tensor:
        return linalg.diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return the diagonals."""
        with self._scope(name):
            return self._diag_part()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> Tensor:
        """Return the sums of the diagonals."""
        with self._scope(name):
            return self._trace()

    def _add_to_tensor(self, x: Any) -> Tensor:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum of the matrix and `x`, whose shapes broadcast."""
        with self._scope(name):
            x = convert_to_tensor(x, dtype=self.dtype, name="x")
            return self._add_to_tensor(x)

    # Operators that follow from this one.

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator of the conjugate transpose; `H` is the same."""
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            return algebra.adjoint(self)

    H = property(adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the inverse. ValueError if there is none by the hints or the shape."""
        if self.is_square is False or self.is_non_singular is False:
            text = "singular by its hints" if self.is_square is not False else "not square"
            raise misuse(ValueError, f"{self.name} is {text}: it has no inverse")
        with self._scope(name):
            return algebra.inverse(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the operator L, lower triangular, with L L^H equal to this one.

        Raises:
            ValueError: If the hints do not say that the matrix is self-adjoint and positive definite.
        """
        if not self._has_cholesky():
            text = f"{self.name} has no Cholesky factor: it is not known to be positive definite"
            raise misuse(ValueError, text, "give is_self_adjoint=True and is_positive_definite=True")
        with self._scope(name):
            return algebra.cholesky(self)

    def answer(self, function: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a function of matrices, such as `sg.matmul`, one of whose arguments this is.

        Args:
            function: Name of the function.
            arguments: What it was called with, by the names of its parameters.

        Raises:
            ValueError: If an argument is not for operators, or the hints do not say what the function needs.
        """
        return ANSWERS[function](**{name: value for name, value in arguments.items() if value is not None})

    # Assertions: operations that fail with InvalidArgumentError.

    def _assert_non_singular(self) -> Any:
        values = linalg.svd(self.to_dense(), compute_uv=False)
        largest, smallest = reduce_max(values, axis=-1), reduce_min(values, axis=-1)
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        bound = 1.0 / (max(100, rows or 0, columns or 0) * np.finfo(self.dtype.as_numpy_dtype).eps)
        return assert_less(largest / smallest, bound, message=f"{self.name} is singular up to rounding")

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Return an operation that fails if the matrix has no inverse, up to rounding."""
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        if not self.is_self_adjoint:
            text = f"{self.name}: only of self-adjoint operators it can be told if they are positive definite"
            raise misuse(NotImplementedError, text, "give is_self_adjoint=True")
        factor = linalg.diag_part(linalg.cholesky(self.to_dense()))
        return assert_positive(absolute(factor), message=f"{self.name} is not positive definite")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Return an operation that fails if the matrix is not positive definite."""
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return assert_equal(dense, linalg.adjoint(dense), message=f"{self.name} is not self-adjoint")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Return an operation that fails if the matrix is not exactly its own conjugate transpose."""
        with self._scope(name):
            return self._assert_self_adjoint()
