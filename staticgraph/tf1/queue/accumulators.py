"""Conditional accumulators: gradients are added until there are enough, and their mean is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int32, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, RuleError, ShapeError, misuse
from staticgraph.compiler.graph.shapes import Shape, TensorType, as_shape, compatible, merge, shape_text
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.runtime.state.resources import resources
from staticgraph.tf1.queue.base import Shared
from staticgraph.tf1.queue.sums import DenseSum, SparseSum, Sum

_REDUCTIONS = ("MEAN", "SUM")
_STEP = {"step": "int64"}


class ConditionalAccumulatorBase:
    """The operations of both kinds of accumulator.

    An accumulator has a global step, at first 0. A gradient whose `local_step` is smaller is stale, and is
    left out silently. Taking the gradients adds one to the step. Each session has contents of its own.
    """

    TYPE = "ConditionalAccumulator"
    _sum: type[Sum] = DenseSum

    def __init__(
        self, dtype: Any, shape: Any, shared_name: str | None, name: str, reduction_type: str
    ) -> None:
        if str(reduction_type).upper() not in _REDUCTIONS:
            text = f"reduction_type={reduction_type!r} is not among {', '.join(_REDUCTIONS)}"
            raise misuse(ValueError, text, "MEAN divides by the number of gradients, SUM does not")
        self._dtype, self._shape = as_dtype(dtype), as_shape(shape)
        self._takes_mean = str(reduction_type).upper() == "MEAN"
        self._contents = Shared.of(shared_name, "accumulator")
        self._ref: Tensor = accumulator_handle(accumulator=self, name=name)

    accumulator_ref: Tensor = read_only(
        "ref", "A string tensor that stands for the accumulator in the graph."
    )
    dtype: DType = read_only("dtype", "The element type of the gradients.")

    @property
    def name(self) -> str:
        """The name of the operation that stands for the accumulator."""
        return self._ref.op.name

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """The number of gradients that were added since the last were taken, as int32."""
        made: Tensor = accumulator_count(accumulator=self, name=name or f"{self.name}_NumAccumulated")
        return made

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """The operation that sets the global step, with which `local_step` is compared."""
        step = cast(new_global_step, int64)
        made: Operation = accumulator_set_step(step, accumulator=self, name=name)
        return made

    # What the operations need

    def contents(self) -> Sum:
        """Return what was added in the current session."""
        label = f"{self.TYPE} '{self.name}'"
        return resources().of(self._contents, lambda: self._sum(label, self._takes_mean, self._shape))

    def check(self, shape: Shape) -> None:
        """InvalidArgumentError if a gradient has not the accumulator's shape."""
        if not compatible(self._shape, shape):
            text = f"Shape mismatch: expected {shape_text(self._shape)}, got {shape_text(shape)}"
            raise InvalidArgumentError(text)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients.

    Args:
        dtype: The element type of the gradients.
        shape: Their shape; None, or None among its sizes, for what is not known.
        shared_name: Accumulators of one shared name have the same contents.
        name: The name of the operation that stands for the accumulator.
        reduction_type: "MEAN" or "SUM" of the gradients that were added.

    Raises:
        ValueError: `reduction_type` is another word.

    >>> import staticgraph as sg
    >>> accumulator = sg.ConditionalAccumulator(sg.float32, [2])
    >>> x = sg.placeholder(sg.float32, [2])
    >>> add, mean = accumulator.apply_grad(x), accumulator.take_grad(2)
    >>> with sg.Session() as sess:
    ...     sess.run(add, {x: [1.0, 2.0]})
    ...     sess.run(add, {x: [3.0, 6.0]})
    ...     sess.run(mean).tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, shared_name, name, reduction_type)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """The operation that adds a gradient, unless it is stale.

        Args:
            grad: A tensor of the accumulator's type and shape.
            local_step: The global step at which the gradient was computed.
            name: The name of the operation.

        Raises:
            ValueError: The shape is not the accumulator's.
        """
        grad = convert_to_tensor(grad, dtype=self._dtype)
        try:
            merge(grad.type.shape, self._shape, "the gradient has")
        except RuleError:
            given, wanted = shape_text(grad.type.shape), shape_text(self._shape)
            text = f"the gradient has shape {given}, the accumulator takes {wanted}"
            raise misuse(ShapeError, text, made=[(grad.name, grad.op.where)]) from None
        step = cast(local_step, int64)
        made: Operation = accumulator_apply(grad, step, accumulator=self, name=name)
        return made

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean or sum of the gradients, when there are enough; then the accumulator is empty.

        Args:
            num_required: How many gradients there must be at least, an int above 0. The run waits for them.
            name: The name of the operation.
        """
        count = convert_to_tensor(num_required, dtype=int32)
        made: Tensor = accumulator_take(count, accumulator=self, name=name)
        return made


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of sparse gradients, `tf.IndexedSlices`: the mean of a row is over those that have it.

    The arguments are those of `ConditionalAccumulator`; `shape` is that of the dense gradients.
    """

    TYPE = "SparseConditionalAccumulator"
    _sum = SparseSum

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, shared_name, name, reduction_type)

    def apply_indexed_slices_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """The operation that adds an IndexedSlices, unless it is stale; see `apply_grad`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """The operation that adds rows of a gradient, unless it is stale.

        Args:
            grad_indices: The numbers of the rows, a vector.
            grad_values: The rows: [number of indices, ...].
            grad_shape: The shape of the dense gradient, if it is known.
            local_step: The global step at which the gradient was computed.
            name: The name of the operation.

        Raises:
            InvalidArgumentError: In a run, the shapes do not fit each other or the accumulator.
        """
        made: Operation = accumulator_apply_sparse(
            cast(grad_indices, int64),
            convert_to_tensor(grad_values, dtype=self._dtype),
            cast([] if grad_shape is None else grad_shape, int64),
            cast(local_step, int64),
            accumulator=self,
            name=name,
        )
        return made

    def take_grad(self, num_required: Any, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The mean or sum of the gradients, when there are enough; then the accumulator is empty.

        Args:
            num_required: How many gradients there must be at least, an int above 0. The run waits for them.
            name: The name of the operation.

        Returns:
            The numbers of the rows, the rows, and the shape of the dense gradient, -1 for an unknown size.
        """
        count = convert_to_tensor(num_required, dtype=int32)
        made: tuple[Tensor, Tensor, Tensor] = accumulator_take_sparse(count, accumulator=self, name=name)
        return made

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, an IndexedSlices."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)

    def check_rows(self, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> None:
        """InvalidArgumentError if the parts of a sparse gradient do not fit."""
        if indices.ndim != 1:
            raise InvalidArgumentError(f"Input indices should be vector but received shape: {indices.shape}")
        if values.ndim == 0:
            raise InvalidArgumentError("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            text = f"Expected {len(indices)} non-empty input values, got {len(values)}"
            raise InvalidArgumentError(text)
        if shape.size and (len(shape) != values.ndim or tuple(shape[1:]) != values.shape[1:]):
            raise InvalidArgumentError(f"Shape mismatch: expected {tuple(shape)}, got rows {values.shape}")
        known = self._shape or ()
        if len(known) > values.ndim:
            what = "values" if not shape.size or len(shape) >= len(known) else "shape"
            text = f"Shape mismatch: expected {what} rank at least {len(known)}, got {values.ndim}"
            raise InvalidArgumentError(text)
        for axis, (wanted, found) in enumerate(zip(known, values.shape, strict=False)):
            if axis and wanted is not None and wanted != found:
                what = "shape" if shape.size else "values"
                text = f"Shape mismatch: expected {what} dim {axis} to be {wanted}, got {found}"
                raise InvalidArgumentError(text)
        rows = shape[0] if shape.size else known[0] if known else None
        for at, index in enumerate(indices.tolist() if rows is not None else ()):
            if not 0 <= index < rows:
                text = f"index of slice {at} exceeded limits of shape; index is {index} exceeded {rows}"
                raise InvalidArgumentError(f"Shape mismatch: {text}")


def _count(accumulator: ConditionalAccumulatorBase) -> TensorType:
    return TensorType(int32, ())


@host(tf="ResourceConditionalAccumulator", type=lambda accumulator: TensorType(string, ()), stateful=True)
def accumulator_handle(*, accumulator: ConditionalAccumulatorBase) -> Any:
    """The name of an accumulator; stands for it in the graph."""
    return accumulator.name


@host(tf="ResourceAccumulatorNumAccumulated", type=_count, stateful=True)
def accumulator_count(*, accumulator: ConditionalAccumulatorBase) -> Any:
    """The number of gradients in an accumulator."""
    return np.asarray(len(accumulator.contents()), np.int32)


@host(tf="ResourceAccumulatorSetGlobalStep", type=lambda step, accumulator: (), vars=_STEP, stateful=True)
def accumulator_set_step(step: Any, *, accumulator: ConditionalAccumulatorBase) -> Any:
    """Set the global step of an accumulator."""
    accumulator.contents().set_step(int(step))
    return ()


@host(
    tf="ResourceAccumulatorApplyGradient",
    type=lambda grad, step, accumulator: (),
    vars=_STEP,
    stateful=True,
)
def accumulator_apply(grad: Any, step: Any, *, accumulator: ConditionalAccumulator) -> Any:
    """Add a dense gradient to an `accumulator`."""
    accumulator.check(grad.shape)
    accumulator.contents().add((grad,), int(step))
    return ()


@host(
    tf="ResourceAccumulatorTakeGradient",
    vars={"count": "int32"},
    type=lambda count, accumulator: TensorType(accumulator._dtype, accumulator._shape),
    stateful=True,
)
def accumulator_take(count: Any, *, accumulator: ConditionalAccumulator) -> Any:
    """Take the mean or sum of the dense gradients of an `accumulator`."""
    return accumulator.contents().take(int(count))[0]


@host(
    tf="SparseAccumulatorApplyGradient",
    type=lambda indices, values, shape, step, accumulator: (),
    vars=_STEP | {"indices": "int64", "shape": "int64"},
    stateful=True,
)
def accumulator_apply_sparse(
    indices: Any, values: Any, shape: Any, step: Any, *, accumulator: SparseConditionalAccumulator
) -> Any:
    """Add a sparse gradient to an `accumulator`."""
    accumulator.check_rows(indices, values, shape)
    accumulator.contents().add((indices, values, shape), int(step))
    return ()


def _sparse_types(count: Any, accumulator: SparseConditionalAccumulator) -> tuple[TensorType, ...]:
    rows = None if accumulator._shape is None else (None, *accumulator._shape[1:])
    return (
        TensorType(int64, (None,)),
        TensorType(accumulator._dtype, rows or None),
        TensorType(int64, (None,)),
    )


@host(tf="SparseAccumulatorTakeGradient", type=_sparse_types, vars={"count": "int32"}, stateful=True)
def accumulator_take_sparse(count: Any, *, accumulator: SparseConditionalAccumulator) -> Any:
    """Take the mean or sum of the sparse gradients of an `accumulator`."""
    return accumulator.contents().take(int(count))
