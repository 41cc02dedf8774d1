"""Operators that Fourier transforms apply: circulant matrices, and Toeplitz ones, which are parts of them."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import (
    broadcast_dynamic_shape,
    concat,
    expand_dims,
    reshape,
    reverse,
    shape,
    stack,
)
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import ones, zeros_like
from staticgraph.building.framework import name_scope
from staticgraph.building.signatures import with_defaults
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, complex64, complex128, float64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal, assert_less
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators.algebra import rule
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.eigenvalues import OfEigenvalues
from staticgraph.linear_algebra.operators.parameters import always, common_batch, copied, parameter
from staticgraph.mathematics.math_ops import abs as absolute
from staticgraph.mathematics.math_ops import conj, imag
from staticgraph.mathematics.reductions import reduce_prod, reduce_sum

_FORWARD = {1: ops.fft, 2: ops.fft2d, 3: ops.fft3d}
_BACKWARD = {1: ops.ifft, 2: ops.ifft2d, 3: ops.ifft3d}


def _as_complex(x: Any) -> Any:
    if x.dtype.is_complex:
        return x
    return cast(x, complex128 if x.dtype.base_dtype == float64 else complex64)


class LinearOperatorCirculant(OfEigenvalues):
    """A circulant matrix: each column is the one before, moved down by one.

    Products are circular convolutions.

    Args:
        spectrum: Tensor of shape [..., N]: the eigenvalues, which are the transform of the first column.
        input_output_dtype: Element type of the operator. A real one needs a spectrum of a real matrix.
        is_non_singular: If no eigenvalue is zero.
        is_self_adjoint: If the spectrum is real; always True for a real element type of the spectrum.
        is_positive_definite: If the real parts are positive.
        is_square: True or None.
        name: Name of the operator.

    >>> spectrum = sg.signal.fft(sg.constant([4.0, 2.0, 1.0], sg.complex64))
    >>> operator = sg.linalg.LinearOperatorCirculant(spectrum, input_output_dtype=sg.float32)
    >>> with sg.Session() as sess:
    ...     print(sess.run(operator.to_dense()).round(4))
    [[4. 1. 2.]
     [2. 4. 1.]
     [1. 2. 4.]]
    """

    _WHAT = "a circulant operator"

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = "LinearOperatorCirculant",
    ) -> None:
        with name_scope(name, values=[spectrum]):
            self._eigenvalues = parameter(spectrum, "spectrum", self._DEPTH)
            if not self._eigenvalues.dtype.is_complex:
                what = f"{self._WHAT} with a real spectrum"
                is_self_adjoint = always(what, "is_self_adjoint", is_self_adjoint)
            is_square = always(self._WHAT, "is_square", is_square)
            super().__init__(
                as_dtype(input_output_dtype),
                [self._eigenvalues],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    @property
    def block_depth(self) -> int:
        """The number of axes that are transformed."""
        return self._DEPTH

    @property
    def spectrum(self) -> Any:
        """The eigenvalues."""
        return self._eigenvalues

    @property
    def block_shape(self) -> TensorShape:
        """The sizes of the axes that are transformed."""
        return self._eigenvalues.shape[-self._DEPTH :]

    def block_shape_tensor(self) -> Tensor:
        """Return the sizes of the axes that are transformed, as a tensor."""
        return shape(self._eigenvalues)[-self._DEPTH :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Return the first column of each matrix, in the shape of the spectrum."""
        with self._scope(name):
            return cast(_BACKWARD[self._DEPTH](_as_complex(self._eigenvalues)), self.dtype)

    def _shape(self) -> TensorShape:
        known = self._eigenvalues.shape
        if known.ndims is None:
            return known
        block = self.block_shape
        rows = reduce(operator.mul, block).value
        return known[: -self._DEPTH].concatenate([rows, rows])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._eigenvalues)
        rows = reduce_prod(sizes[-self._DEPTH :])
        return concat([sizes[: -self._DEPTH], stack([rows, rows])], 0)

    def _transformed(self, x: Any, adjoint: bool, apply: Any) -> Tensor:
        """Transform the columns of `x`, apply the eigenvalues, and transform back."""
        spectrum = _as_complex(self._eigenvalues)
        spectrum = expand_dims(conj(spectrum) if adjoint else spectrum, -self._DEPTH - 1)
        rows = linalg.matrix_transpose(cast(x, spectrum.dtype))
        blocks = reshape(rows, concat([shape(rows)[:-1], self.block_shape_tensor()], 0))
        blocks = _BACKWARD[self._DEPTH](apply(_FORWARD[self._DEPTH](blocks), spectrum))
        flat = reshape(blocks, concat([shape(blocks)[: -self._DEPTH], [-1]], 0))
        result = cast(linalg.matrix_transpose(flat), self.dtype)
        if x.shape.ndims is not None and self.shape.ndims is not None:
            batch = common_batch([x.shape[:-2], self.batch_shape])
            result.set_shape(batch.concatenate([self.range_dimension, x.shape[-1]]))
        return result

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._transformed(linalg.adjoint(x) if adjoint_arg else x, adjoint, lambda a, b: a * b)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._transformed(linalg.adjoint(rhs) if adjoint_arg else rhs, adjoint, lambda a, b: a / b)

    def _trace(self) -> Tensor:
        return self._over_eigenvalues(reduce_sum, self._eigenvalues)

    def _diag_part(self) -> Tensor:
        rows = self.domain_dimension_tensor()
        mean = self.trace() / cast(rows, self.dtype)
        return expand_dims(mean, -1) * ones(self.shape_tensor()[:-1], dtype=self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Return an operation that fails unless the spectrum makes a real matrix."""
        with self._scope(name):
            kernel = _BACKWARD[self._DEPTH](_as_complex(self._eigenvalues))
            real_dtype = self.dtype.real_dtype
            bound = np.finfo(real_dtype.as_numpy_dtype).eps * cast(self.domain_dimension_tensor(), real_dtype)
            message = f"{self.name}: the spectrum is not Hermitian"
            return assert_less(cast(absolute(imag(kernel)), real_dtype), bound, message=message)


class LinearOperatorCirculant2D(LinearOperatorCirculant):
    """A block circulant matrix of circulant blocks: products are circular convolutions over two axes.

    Args:
        spectrum: Tensor of shape [..., N0, N1]: the eigenvalues, of a matrix with N0 N1 rows.
        input_output_dtype: Element type of the operator.
        is_non_singular: If no eigenvalue is zero.
        is_self_adjoint: If the spectrum is real.
        is_positive_definite: If the real parts are positive.
        is_square: True or None.
        name: Name of the operator.

    >>> sg.linalg.LinearOperatorCirculant2D(sg.ones([2, 3])).shape.as_list()
    [6, 6]
    """

    _DEPTH = 2
    _WHAT = "a block circulant operator"

    __init__ = with_defaults(LinearOperatorCirculant, name="LinearOperatorCirculant2D")


class LinearOperatorCirculant3D(LinearOperatorCirculant):
    """A nested block circulant matrix: products are circular convolutions over three axes.

    Args:
        spectrum: Tensor of shape [..., N0, N1, N2]: the eigenvalues, of a matrix with N0 N1 N2 rows.
        input_output_dtype: Element type of the operator.
        is_non_singular: If no eigenvalue is zero.
        is_self_adjoint: If the spectrum is real.
        is_positive_definite: If the real parts are positive.
        is_square: True or None.
        name: Name of the operator.

    >>> sg.linalg.LinearOperatorCirculant3D(sg.ones([2, 3, 2])).shape.as_list()
    [12, 12]
    """

    _DEPTH = 3
    _WHAT = "a nested block circulant operator"

    __init__ = with_defaults(LinearOperatorCirculant, name="LinearOperatorCirculant3D")


class LinearOperatorToeplitz(LinearOperator):
    """A Toeplitz matrix: each diagonal holds one number.

    Args:
        col: Tensor of shape [..., N]: the first column.
        row: Tensor of shape [..., N]: the first row. Its first number is not looked at.
        is_non_singular: If it has an inverse.
        is_self_adjoint: If it is self-adjoint.
        is_positive_definite: If it is positive definite.
        is_square: True or None.
        name: Name of the operator.

    >>> operator = sg.linalg.LinearOperatorToeplitz([1.0, 2.0, 3.0], [1.0, 5.0, 6.0])
    >>> with sg.Session() as sess:
    ...     print(sess.run(operator.to_dense()).round(4))
    [[1. 5. 6.]
     [2. 1. 5.]
     [3. 2. 1.]]
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        with name_scope(name, values=[row, col]):
            self._row, self._col = parameter(row, "row", 1), parameter(col, "col", 1)
            sizes = [None if x.shape.ndims is None else x.shape[-1].value for x in (self._col, self._row)]
            if None not in sizes and sizes[0] != sizes[1]:
                raise misuse(
                    ValueError, f"col has {sizes[0]} numbers and row {sizes[1]}: the matrix is not square"
                )
            is_square = always("a Toeplitz operator", "is_square", is_square)
            super().__init__(
                self._row.dtype,
                [self._row, self._col],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    @property
    def col(self) -> Any:
        """The first column."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row."""
        return self._row

    def _shape(self) -> TensorShape:
        vectors = common_batch([self._row.shape, self._col.shape])
        return vectors.concatenate(vectors[-1:])

    def _shape_tensor(self) -> Tensor:
        vectors = broadcast_dynamic_shape(shape(self._row), shape(self._col))
        return concat([vectors, vectors[-1:]], 0)

    def _circulant(self) -> LinearOperatorCirculant:
        """Return the circulant operator of twice the size whose upper left corner is this one."""
        batch = common_batch([self._row.shape[:-1], self._col.shape[:-1]])
        zero = zeros_like(self._col[..., :1])
        if batch.is_fully_defined() and self._row.shape[:-1].as_list() == self._col.shape[:-1].as_list():
            row, col = self._row, self._col
        else:
            row, col = self._row + zeros_like(self._col), self._col + zeros_like(self._row)
            zero = zeros_like(col[..., :1])
        first = concat([col, zero, reverse(row[..., 1:], axis=[-1])], axis=-1)
        return LinearOperatorCirculant(ops.fft(_as_complex(first)), input_output_dtype=self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = linalg.adjoint(x) if adjoint_arg else x
        longer = self._circulant().matmul(concat([x, zeros_like(x)], axis=-2), adjoint=adjoint)
        return longer[..., : self.domain_dimension_tensor(), :]

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor(), self.dtype) * self._col[..., 0]

    def _diag_part(self) -> Tensor:
        return self._col[..., :1] * ones(stack([self.domain_dimension_tensor()]), self.dtype)

    def _assert_self_adjoint(self) -> Any:
        message = f"{self.name} is not self-adjoint: the first row is not the first column"
        return assert_equal(self._row, conj(self._col), message=message)


@rule("adjoint", LinearOperatorCirculant)
def _adjoint(operator: LinearOperatorCirculant) -> LinearOperatorCirculant:
    return type(operator)(conj(operator.spectrum), operator.dtype, **copied(operator))


@rule("inverse", LinearOperatorCirculant)
def _inverse(operator: LinearOperatorCirculant) -> LinearOperatorCirculant:
    return type(operator)(1.0 / operator.spectrum, operator.dtype, **copied(operator))
