"""Ops that change some rows or slices of a variable: pure functions from its old value to the new one.

Where several updates meet in one element, they are applied in the order of their indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import coordinates_in, index_in
from staticgraph.compiler.graph.dtypes import ANY, REAL, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, compatible, shape_text
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.stmt import Stmt, Store
from staticgraph.compiler.ops.arrays.gathering import checked
from staticgraph.compiler.ops.arrays.scatter import scatter_statements, slices, updated
from staticgraph.compiler.ops.control.state import WRITES
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, indices, real
from staticgraph.compiler.ops.statements.loops import counters, each


def _rows_type(ref: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
    if ref.shape is None or indices.shape is None or updates.shape is None:
        return ref
    require(len(ref.shape) > 0, "the variable is a scalar, it has no rows")
    wanted = indices.shape + ref.shape[1:]
    require(
        compatible(updates.shape, wanted) or updates.shape == (),
        f"updates has shape {shape_text(updates.shape)}, and needs that of indices, then that of a row: "
        f"{shape_text(wanted)}",
    )
    return ref


def _slices_type(ref: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
    if ref.shape is None or indices.shape is None or updates.shape is None:
        return ref
    require(len(indices.shape) > 0, "indices is a scalar, its last axis must hold positions")
    depth = indices.shape[-1]
    if depth is None:
        return ref
    require(
        depth <= len(ref.shape),
        f"indices has positions of {depth} numbers and the variable has rank {ref.rank}",
    )
    wanted = indices.shape[:-1] + ref.shape[depth:]
    require(
        compatible(updates.shape, wanted),
        f"updates has shape {shape_text(updates.shape)}, {shape_text(wanted)} is needed",
    )
    return ref


def _scattered(
    ref: np.ndarray, positions: np.ndarray, updates: np.ndarray, combine: Callable[..., Any]
) -> np.ndarray:
    out, depth = ref.copy(), positions.shape[-1]
    updates = np.broadcast_to(updates, positions.shape[:-1] + ref.shape[depth:])
    for where in np.ndindex(positions.shape[:-1]):
        position = tuple(int(p) for p in positions[where])
        if all(0 <= p < n for p, n in zip(position, ref.shape, strict=False)):
            out[position] = combine(out[position], updates[where])
    return out


def _row_statements(
    out: Out, ref: View, indices: View, updates: View, combine: Callable[..., Any]
) -> tuple[Stmt, ...] | Described:
    """The old value, then one update of a row after the other; rows that do not exist are left out."""
    at = counters(indices.shape, "u")
    place, inside = checked(indices[at], ref.shape[0])

    def write(row: tuple[Expr, ...], columns: tuple[Expr, ...]) -> Store:
        target = (*row, *columns)
        return Store(out.buffer, target, combine(out[target], updates.broadcast((*at, *columns))))

    where = at, (place,), inside, ref.shape[1:], write
    return updated(out, each(out, ref.__getitem__), slices(*where), *where)


def _scatter_op(
    name: str, tf: str, doc: str, scalars: Callable[..., Any], arrays: Callable[..., Any]
) -> OpDef:
    by_position = name.startswith("scatter_nd")

    def numpy(ref: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        return _scattered(ref, indices if by_position else indices[..., None], updates, arrays)

    samples = (
        [
            Sample(real(5, 2), indices(3, 1, below=5), real(3, 2, low=1, high=2)),
            Sample(real(3, 4), indices(2, 2, below=3, dtype="int64"), real(2, low=1, high=2)),
            Sample(real(3, 2), indices(0, 1, below=3), real(0, 2)),
        ]
        if by_position
        else [
            Sample(real(5, 2), indices(3, below=5), real(3, 2, low=1, high=2)),
            Sample(real(4), indices(2, 3, below=4, dtype="int64"), real(2, 3, low=1, high=2)),
            Sample(real(3, 2), indices(below=3), real(2, low=1, high=2)),
            Sample(real(3, 2), indices(4, below=3), real(low=1, high=2)),
        ]
    )

    def statements(
        outs: tuple[Out, ...], ref: View, indices: View, updates: View
    ) -> tuple[Stmt, ...] | Described:
        if by_position:
            return scatter_statements(outs[0], ref.__getitem__, indices, updates, scalars)
        return _row_statements(outs[0], ref, indices, updates, scalars)

    def requires(ref: Any, indices: Any, updates: Any) -> list[Any]:
        within = coordinates_in if by_position else index_in
        size = (lambda ref, *_: ref.shape) if by_position else (lambda ref, *_: ref.shape[0])
        required: list[Any] = within(name, "indices", 1, size)(ref, indices, updates)
        if arrays is _numpy_quotient and updates.dtype.is_integer:
            required.append(ops.nonzero(updates, of=name, operand="updates"))
        return required

    statements.__doc__ = doc
    return routine(
        name=name, tf=tf, type=_slices_type if by_position else _rows_type, numpy=numpy, samples=samples,
        vars={"indices": "I"}, requires=requires,
        dtypes={"T": ANY if scalars is _second else REAL, "I": frozenset({int32, int64})}, **WRITES,
    )(statements)


def _second(old: Any, new: Any) -> Any:
    return new


def _quotient(old: Any, new: Any) -> Any:
    return scalar.truncdiv(old, new) if old.dtype.is_integer else old / new


def _numpy_quotient(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return scalar.truncdiv(old, new).astype(old.dtype) if old.dtype.kind in "iu" else old / new


for _name, _tf, _what, _scalars, _arrays in (
    ("update", "ScatterUpdate", "replaced by", _second, _second),
    ("add", "ScatterAdd", "increased by", lambda a, b: a + b, np.add),
    ("sub", "ScatterSub", "decreased by", lambda a, b: a - b, np.subtract),
    ("mul", "ScatterMul", "multiplied by", lambda a, b: a * b, np.multiply),
    ("div", "ScatterDiv", "divided by", _quotient, _numpy_quotient),
    ("min", "ScatterMin", "limited from above by", scalar.minimum, np.minimum),
    ("max", "ScatterMax", "limited from below by", scalar.maximum, np.maximum),
):
    _scatter_op(
        f"scatter_{_name}",
        _tf,
        f"The variable with the rows that `indices` names {_what} `updates`.",
        _scalars,
        _arrays,
    )
    if _name in ("update", "add", "sub"):
        _scatter_op(
            f"scatter_nd_{_name}", _tf.replace("Scatter", "ScatterNd"),
            f"The variable with the slices at the positions in the last axis of `indices` {_what} `updates`.",
            _scalars, _arrays,
        )
