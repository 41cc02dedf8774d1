"""Kronecker products of operators."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from staticgraph.arrays.array_ops import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    concat,
    reshape,
    shape,
    stack,
)
from staticgraph.arrays.casts import cast
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra import linalg
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.combined import OfParts


class LinearOperatorKronecker(OfParts):
    """The Kronecker product of operators: each number of the first one times the second one, and so on.

    A product with a matrix splits its rows into axes, and applies each operator along one of them.

    Args:
        operators: The operators.
        is_non_singular: If it has an inverse; always True if all operators have one.
        is_self_adjoint: If it is self-adjoint; always True if all operators are.
        is_positive_definite: If it is positive definite; always True if all operators are.
        is_square: If it is square.
        name: Name of the operator. Default: those of the operators, with "_x_" between.

    >>> first = sg.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> second = sg.linalg.LinearOperatorDiag([1.0, 10.0])
    >>> sg.Session().run(sg.linalg.LinearOperatorKronecker([first, second]).matvec([1.0, 1.0, 1.0, 1.0]))
    array([ 3., 30.,  7., 70.], dtype=float32)
    """

    def __init__(
        self,
        operators: Iterable[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = self._listed(operators)
        hints = self._joint(
            "a Kronecker product of such operators",
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
        )
        self._take({**hints, "is_square": is_square}, name, "_x_")

    def _shape(self) -> TensorShape:
        rows = self._total(lambda each: each.range_dimension, lambda a, b: a * b)
        columns = self._total(lambda each: each.domain_dimension, lambda a, b: a * b)
        return self._batch().concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        rows = self._total(lambda each: each.range_dimension_tensor(), lambda a, b: a * b)
        columns = self._total(lambda each: each.domain_dimension_tensor(), lambda a, b: a * b)
        return concat([self._batch_tensor(), stack([rows, columns])], 0)

    def _along_axes(self, method: str, x: Any, adjoint: bool, rows: str) -> Tensor:
        """Apply a method of each operator along an axis of its own.

        Args:
            method: "matmul" or "solve".
            x: Matrices, whose rows are split into an axis for each operator.
            adjoint: If the adjoint of each operator is meant.
            rows: The method that tells how many rows of `x` an operator takes.
        """
        batch = broadcast_dynamic_shape(shape(x)[:-2], self.batch_shape_tensor())
        columns = shape(x)[-1:]
        # The first axis that is left becomes the rows of a matrix, and then the last axis.
        x = broadcast_to(x, concat([batch, shape(x)[-2:]], 0))
        for each in self.operators:
            size = getattr(each, rows)()
            x = getattr(each, method)(reshape(x, concat([batch, [size, -1]], 0)), adjoint=adjoint)
            # Rows x (others x columns) becomes (others x columns) x rows.
            x = linalg.matrix_transpose(x)
        # Columns come first now, then the rows of all operators.
        return linalg.matrix_transpose(reshape(x, concat([batch, columns, [-1]], 0)))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = linalg.adjoint(x) if adjoint_arg else x
        rows = "range_dimension_tensor" if adjoint else "domain_dimension_tensor"
        result = self._along_axes("matmul", x, adjoint, rows)
        return self._with_shape(result, x, self.domain_dimension if adjoint else self.range_dimension)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        result = self._along_axes("solve", rhs, adjoint, "range_dimension_tensor")
        return self._with_shape(result, rhs, self.domain_dimension)

    def _with_shape(self, result: Tensor, x: Any, rows: Any) -> Tensor:
        if (
            x.shape.ndims is not None
            and x.shape[:-2].is_fully_defined()
            and self.batch_shape.is_fully_defined()
        ):
            batch = broadcast_static_shape(x.shape[:-2], self.batch_shape)
            result.set_shape(batch.concatenate([rows, x.shape[-1]]))
        return result

    def _weighted(self, value: Any, combine: Any, power: Any) -> Tensor:
        """Return a number of all operators, each raised to the number of its copies."""
        total = self.domain_dimension_tensor()
        copies = [cast(total // each.domain_dimension_tensor(), each.dtype) for each in self.operators]
        return reduce(
            combine, [power(value(each), n) for each, n in zip(self.operators, copies, strict=True)]
        )

    def _determinant(self) -> Tensor:
        return self._weighted(lambda each: each.determinant(), lambda a, b: a * b, lambda a, n: a**n)

    def _log_abs_determinant(self) -> Tensor:
        return self._weighted(lambda each: each.log_abs_determinant(), lambda a, b: a + b, lambda a, n: a * n)

    def _trace(self) -> Tensor:
        if any(each.is_square is not True for each in self.operators):
            return super()._trace()
        return self._total(lambda each: each.trace(), lambda a, b: a * b)

    def _diag_part(self) -> Tensor:
        if any(each.is_square is not True for each in self.operators):
            return super()._diag_part()

        def outer(a: Any, b: Any) -> Any:
            pairs = a[..., None] * b[..., None, :]
            return reshape(pairs, concat([shape(pairs)[:-2], [-1]], 0))

        diagonal = self._total(lambda each: each.diag_part(), outer)
        diagonal.set_shape(self.batch_shape.concatenate([self.range_dimension]))
        return diagonal

    def _to_dense(self) -> Tensor:
        def outer(a: Any, b: Any) -> Any:
            blocks = a[..., :, None, :, None] * b[..., None, :, None, :]
            sizes = shape(blocks)
            matrix = stack([sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]])
            return reshape(blocks, concat([sizes[:-4], matrix], 0))

        dense = self._total(lambda each: each.to_dense(), outer)
        dense.set_shape(self.shape)
        return dense

    def _assert_each(self, method: str) -> Any:
        if not all(each.is_square for each in self.operators):
            raise InvalidArgumentError(f"{self.name}: not all operators of this Kronecker product are square")
        return super()._assert_each(method)
