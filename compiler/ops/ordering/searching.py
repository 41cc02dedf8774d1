"""Ops that find positions: in sorted sequences, and flat positions as coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import REAL, DType, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, merge, operand_shape, shape_text
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.binary_search import how_many
from staticgraph.compiler.kernel.stmt import Stmt, Store
from staticgraph.compiler.ops.arrays.movement import INDEX, check_index
from staticgraph.compiler.ops.kinds import Out, View, composite, routine
from staticgraph.compiler.ops.samples import Sample, indices, real
from staticgraph.compiler.ops.statements.loops import counters, nested


def _bound_type(sorted_inputs: TensorType, values: TensorType, out_type: DType = int32) -> TensorType:
    check_index("out_type", out_type)
    for name, x in (("sorted_inputs", sorted_inputs), ("values", values)):
        require(x.rank in (None, 2), f"{name} must be a matrix, not of shape {shape_text(x.shape)}")
    if sorted_inputs.shape is not None and values.shape is not None:
        merge(sorted_inputs.shape[:1], values.shape[:1], "both must have as many rows:")
    return TensorType(out_type, values.shape)


def _bound_numpy(side: Any) -> Any:
    def reference(sorted_inputs: np.ndarray, values: np.ndarray, out_type: DType = int32) -> np.ndarray:
        rows = [np.searchsorted(s, v, side) for s, v in zip(sorted_inputs, values, strict=True)]
        found = np.array(rows, out_type.numpy).reshape(values.shape)
        # No number is smaller than a NaN, and none greater. NumPy sorts it behind all of them.
        found[values != values] = 0 if side == "left" else sorted_inputs.shape[1]
        return found

    return reference


def _bound_statements(out: Out, sorted_inputs: View, values: View, passes: Any) -> tuple[Stmt, ...]:
    n, at = sorted_inputs.shape[1], counters(values.shape, "v")
    lets, place = how_many(n, lambda i: passes(sorted_inputs[at[0], i], values[at]))
    return nested(at, (*lets, Store(out.buffer, at, scalar.cast(place, out.dtype))))


_BOUND: dict[str, Any] = {
    "type": _bound_type,
    "dtypes": REAL,
    "differentiable": False,
    "samples": [
        Sample(real(1, 1), real(1, 4)),
        Sample(real(3, 0), real(3, 2), out_type=int64),
        Sample(real(2, 1), real(2, 5)),
        Sample(real(2, 7, low=1.0, high=1.0), real(2, 5)),
    ],
}


@routine(tf="LowerBound", numpy=_bound_numpy("left"), **_BOUND)
def lower_bound(
    outs: tuple[Out, ...], sorted_inputs: View, values: View, *, out_type: DType = int32
) -> tuple[Stmt, ...]:
    """Count the elements of each sorted row that are smaller than the values in the row beside it."""
    return _bound_statements(outs[0], sorted_inputs, values, lambda element, value: element < value)


@routine(tf="UpperBound", numpy=_bound_numpy("right"), **_BOUND)
def upper_bound(
    outs: tuple[Out, ...], sorted_inputs: View, values: View, *, out_type: DType = int32
) -> tuple[Stmt, ...]:
    """Count the elements of each sorted row that are not greater than the values in the row beside it."""
    return _bound_statements(outs[0], sorted_inputs, values, lambda element, value: ~(value < element))


def _unravel_type(indices: TensorType, dims: Any) -> TensorType:
    require(
        indices.rank in (None, 0, 1),
        f"indices have shape {shape_text(indices.shape)}, not a number or a vector",
    )
    sizes = operand_shape(dims, "dims")
    rank = None if sizes is None else len(sizes)
    positions = math.prod(n for n in sizes or () if n)
    require(positions <= int64.max, f"dims {dims} have more positions than an index can tell")
    return TensorType(indices.dtype, None if indices.shape is None else (rank, *indices.shape))


@composite(
    tf="UnravelIndex", type=_unravel_type,
    numpy=lambda indices, dims: np.array(np.unravel_index(indices, dims), indices.dtype),
    requires=lambda indices, dims: [
        ops.in_range(indices, low=0, high=math.prod(dims), of="unravel_index", operand="indices")
    ],
    operands=("dims",), partial=("dims",), vars={"indices": "I"}, dtypes={"I": INDEX}, differentiable=False,
    samples=[Sample(indices(5, below=12), dims=(3, 4)), Sample(indices(below=6, dtype="int64"), dims=(6,)),
             Sample(indices(2, below=24), dims=(2, 3, 4))],
)
def unravel_index(indices: Any, *, dims: Any) -> Any:
    """Positions in a flattened tensor of shape `dims` as coordinates, one row per axis.

    >>> sg.Session().run(sg.unravel_index([5, 7], [3, 4]))
    array([[1, 1],
           [1, 3]], dtype=int32)
    """
    rows = [indices // math.prod(dims[d + 1 :]) % size for d, size in enumerate(dims)]
    return ops.stack(rows, axis=0)
