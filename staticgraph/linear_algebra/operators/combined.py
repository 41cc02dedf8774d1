"""Operators that are made of several others: their product, and blocks along a diagonal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from staticgraph.arrays.array_ops import concat, expand_dims, shape, split, squeeze, stack
from staticgraph.arrays.creation import zeros
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import group
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra.operators.algebra import rule
from staticgraph.linear_algebra.operators.base import LinearOperator
from staticgraph.linear_algebra.operators.parameters import (
    common_batch,
    common_batch_tensor,
    copied,
    of_all,
    with_common_batch,
)


class OfOperators(LinearOperator):
    """Base class of operators that are made of a list of operators, which have one element type."""

    _operators: list[LinearOperator]

    def _take(self, hints: dict[str, Any], name: str | None, joint: str) -> None:
        """Keep the operators, whose names with `joint` between them are the default name."""
        name = name or joint.join(each.name for each in self._operators)
        parents = [parent for each in self._operators for parent in each.graph_parents]
        with name_scope(name, values=parents):
            super().__init__(self._operators[0].dtype, parents, **hints, name=name)

    def _listed(self, operators: Iterable[LinearOperator]) -> list[LinearOperator]:
        kind = type(self).__name__
        if isinstance(operators, LinearOperator) or not isinstance(operators, Iterable):
            raise misuse(TypeError, f"{kind} takes a list of operators, not {operators!r}")
        listed = list(operators)
        if not listed:
            raise misuse(ValueError, f"{kind} takes at least one operator, and the list is empty")
        if len({each.dtype for each in listed}) > 1:
            dtypes = ", ".join(f"{each.name}: {each.dtype.name}" for each in listed)
            raise misuse(TypeError, f"{kind} takes operators of one element type, and these have {dtypes}")
        return listed

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators that this one is made of."""
        return self._operators

    def _batch(self) -> TensorShape:
        return common_batch(each.batch_shape for each in self.operators)

    def _batch_tensor(self) -> Any:
        return common_batch_tensor(each.batch_shape_tensor() for each in self.operators)

    def _total(self, value: Callable[[LinearOperator], Any], combine: Callable[[Any, Any], Any]) -> Any:
        """Return a number of all operators, combined."""
        return reduce(combine, [value(each) for each in self.operators])


class LinearOperatorComposition(OfOperators):
    """The product of operators: the last one is applied first.

    Args:
        operators: The operators, each with as many columns as the next one has rows.
        is_non_singular: If it has an inverse; always True if all operators have one.
        is_self_adjoint: If it is self-adjoint.
        is_positive_definite: If it is positive definite.
        is_square: If it is square.
        name: Name of the operator. Default: those of the operators, with "_o_" between.

    >>> first = sg.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> second = sg.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> sg.Session().run(sg.linalg.LinearOperatorComposition([first, second]).determinant())
    np.float32(-4.0)
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
        what = "a product of non-singular operators"
        hints = {
            "is_non_singular": of_all(self._operators, what, "is_non_singular", is_non_singular),
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        self._take(hints, name, "_o_")

    def _shape(self) -> TensorShape:
        inner = self.operators[0].domain_dimension
        for each in self.operators[1:]:
            if (
                None not in (inner.value, each.range_dimension.value)
                and inner.value != each.range_dimension.value
            ):
                shapes = ", ".join(str(other.shape) for other in self.operators)
                raise misuse(ValueError, f"{self.name}: operators of shapes {shapes} do not fit")
            inner = each.domain_dimension
        return self._batch().concatenate([self.operators[0].range_dimension, inner])

    def _shape_tensor(self) -> Tensor:
        rows, columns = (
            self.operators[0].range_dimension_tensor(),
            self.operators[-1].domain_dimension_tensor(),
        )
        return concat([self._batch_tensor(), stack([rows, columns])], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *others = self.operators if adjoint else self.operators[::-1]
        result = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in others:
            result = each.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *others = self.operators[::-1] if adjoint else self.operators
        result = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in others:
            result = each.solve(result, adjoint=adjoint)
        return result

    def _each_is_square(self) -> bool:
        """Return False if an operator is known not to be square, while the product may be."""
        return all(each.is_square is not False for each in self.operators)

    def _determinant(self) -> Tensor:
        if not self._each_is_square():
            return super()._determinant()
        return self._total(lambda each: each.determinant(), lambda a, b: a * b)

    def _log_abs_determinant(self) -> Tensor:
        if not self._each_is_square():
            return super()._log_abs_determinant()
        return self._total(lambda each: each.log_abs_determinant(), lambda a, b: a + b)


class OfParts(OfOperators):
    """Base class of operators whose parts do not touch each other: what holds for each part holds for all."""

    def _joint(self, what: str, **given: bool | None) -> dict[str, bool | None]:
        """Return hints, which follow from those of the parts, of what is made of such parts."""
        return {hint: of_all(self._operators, what, hint, own) for hint, own in given.items()}

    def _of_each(self, method: str, **hints: Any) -> Any:
        """Return the operator of this class that is made of what a method of each part returns."""
        return type(self)([getattr(each, method)() for each in self._operators], **hints)

    def _assert_each(self, method: str) -> Any:
        return group(*(getattr(each, method)() for each in self.operators))

    def _assert_non_singular(self) -> Any:
        return self._assert_each("assert_non_singular")

    def _assert_self_adjoint(self) -> Any:
        return self._assert_each("assert_self_adjoint")


class LinearOperatorBlockDiag(OfParts):
    """Square operators as blocks along the diagonal of a larger one, which is zero elsewhere.

    Args:
        operators: The blocks.
        is_non_singular: If it has an inverse; always True if all blocks have one.
        is_self_adjoint: If it is self-adjoint; always True if all blocks are.
        is_positive_definite: If it is positive definite; always True if all blocks are.
        is_square: True.
        name: Name of the operator. Default: those of the blocks, with "_ds_" between.

    >>> block = sg.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> blocks = [sg.linalg.LinearOperatorIdentity(1), block]
    >>> sg.Session().run(sg.linalg.LinearOperatorBlockDiag(blocks).to_dense())
    array([[1., 0., 0.],
           [0., 1., 2.],
           [0., 3., 4.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Iterable[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._operators = self._listed(operators)
        hints = self._joint(
            "a matrix of such blocks",
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
        )
        if not is_square or not all(each.is_square for each in self._operators):
            shapes = ", ".join(str(each.shape) for each in self._operators)
            raise misuse(ValueError, f"blocks along a diagonal must be square, and these are {shapes}")
        self._take({**hints, "is_square": True}, name, "_ds_")

    def _shape(self) -> TensorShape:
        rows = self._total(lambda each: each.range_dimension, lambda a, b: a + b)
        return self._batch().concatenate([rows, rows])

    def _shape_tensor(self) -> Tensor:
        rows = self._total(lambda each: each.range_dimension_tensor(), lambda a, b: a + b)
        return concat([self._batch_tensor(), stack([rows, rows])], 0)

    def _parts(self, x: Any, axis: int) -> list[Any]:
        known = self.shape.is_fully_defined()
        sizes = [
            each.domain_dimension.value if known else each.domain_dimension_tensor()
            for each in self.operators
        ]
        return split(x, sizes, axis=axis)

    def _by_blocks(self, method: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Tensor:
        parts = zip(self.operators, self._parts(x, -1 if adjoint_arg else -2), strict=True)
        results = [
            getattr(each, method)(part, adjoint=adjoint, adjoint_arg=adjoint_arg) for each, part in parts
        ]
        return concat(with_common_batch(results), axis=-2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._total(lambda each: each.determinant(), lambda a, b: a * b)

    def _log_abs_determinant(self) -> Tensor:
        return self._total(lambda each: each.log_abs_determinant(), lambda a, b: a + b)

    def _trace(self) -> Tensor:
        return self._total(lambda each: each.trace(), lambda a, b: a + b)

    def _diag_part(self) -> Tensor:
        columns = [expand_dims(each.diag_part(), -1) for each in self.operators]
        return squeeze(concat(with_common_batch(columns), axis=-2), axis=-1)

    def _to_dense(self) -> Tensor:
        blocks = with_common_batch([each.to_dense() for each in self.operators])
        before: Any = 0
        total, rows = self.domain_dimension_tensor(), []
        for block in blocks:
            leading, columns = shape(block)[:-1], shape(block)[-1]
            left = zeros(concat([leading, [before]], axis=-1), block.dtype)
            before = before + columns
            right = zeros(concat([leading, [total - before]], axis=-1), block.dtype)
            rows.append(concat([left, block, right], axis=-1))
        dense = concat(rows, axis=-2)
        dense.set_shape(self.shape)
        return dense

    def _assert_positive_definite(self) -> Any:
        return self._assert_each("assert_positive_definite")


@rule("adjoint", OfParts)
def _adjoint(operator: OfParts) -> Any:
    return operator._of_each("adjoint", **copied(operator))


@rule("inverse", OfParts)
def _inverse(operator: OfParts) -> Any:
    return operator._of_each("inverse", **copied(operator))


@rule("cholesky", OfParts)
def _cholesky(operator: OfParts) -> Any:
    return operator._of_each("cholesky", is_non_singular=True, is_square=True)
