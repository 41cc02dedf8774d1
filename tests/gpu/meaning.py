"""Meaning of nests, with whole arrays of NumPy: fast enough for rows of thousands of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, Scalar, free_indices, identity
from staticgraph.compiler.kernel.interpret import apply
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer

Arrays = dict[str, np.ndarray]
_REDUCE = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def meaning(
    nests: Sequence[Nest],
    buffers: Mapping[str, Buffer],
    rows: Sequence[Index],
    sums: Sequence[Nest],
    arrays: Mapping[str, np.ndarray],
) -> Arrays:
    """The arrays after `nests` and `sums`. Sums of floating numbers are taken in float64 and then rounded."""
    out = {name: a.copy() for name, a in arrays.items()}
    heights = tuple(i.extent for i in rows)
    for name, buffer in buffers.items():
        if buffer.local:
            out[name] = np.zeros((*heights, *buffer.shape), buffer.dtype.numpy)
        else:
            out[name] = out[name].reshape(buffer.shape)
    local = {name for name, b in buffers.items() if b.local}
    for nest in nests:
        _store(nest, nest.domain[: len(rows)], out, local)
    for nest in sums:
        _store(nest, None, out, local, len(rows))
    return {name: out[name].reshape(a.shape) for name, a in arrays.items()}


def _store(nest: Nest, row: tuple[Index, ...] | None, out: Arrays, local: set[str], height: int = 0) -> None:
    with np.errstate(all="ignore"):
        results = []
        for store in nest.stores:
            used = free_indices(store.value).union(*(free_indices(a) for a in store.at))
            domain = tuple(i for i in nest.domain if i in used or i in (row or ()))
            reading = _Reading(domain, row, out, local, height)
            at = [reading.value(a) for a in store.at]
            if store.buffer in local:
                at = [reading.value(i) for i in row or ()] + at
            shape = tuple(i.extent for i in domain)
            places = tuple(np.broadcast_to(a, shape) for a in at)
            results.append((store.buffer, places, np.broadcast_to(reading.value(store.value), shape)))
        for name, places, value in results:
            out[name] = np.asarray(out[name])
            out[name][places] = value


class _Reading:
    """Values of expressions as arrays, with an axis for each of `axes`."""

    def __init__(
        self,
        axes: tuple[Index, ...],
        row: tuple[Index, ...] | None,
        arrays: Arrays,
        local: set[str],
        height: int,
    ) -> None:
        self.axes, self.row, self.arrays, self.local, self.height = axes, row, arrays, local, height
        self.seen: dict[Expr, Any] = {}

    def value(self, expr: Expr) -> Any:
        if expr not in self.seen:
            self.seen[expr] = self.compute(expr)
        return self.seen[expr]

    def compute(self, expr: Expr) -> Any:
        match expr:
            case Const(value, dtype):
                return dtype.round(value)
            case Index(_, 1):
                return np.int64(0)
            case Index(_, extent):
                shape = [1] * len(self.axes)
                shape[self.axes.index(expr)] = extent
                return np.arange(extent).reshape(shape)
            case Load(buffer, at):
                places = [self.value(a) for a in at]
                if buffer in self.local:
                    places = [self.value(i) for i in self.row or ()] + places
                return (
                    self.arrays[buffer][tuple(np.broadcast_arrays(*places))]
                    if places
                    else self.arrays[buffer]
                )
            case Reduce(axes, combine, value):
                row = axes[: self.height] if self.row is None else self.row
                used = free_indices(value) - set(axes) | set(row if self.row is not None else ())
                kept = tuple(i for i in self.axes if i in used)
                inner = _Reading((*kept, *axes), row, self.arrays, self.local, self.height)
                found = _reduced(inner.value(value), inner.axes, len(kept), combine, expr.dtype)
                return found.reshape([i.extent if i in kept else 1 for i in self.axes])
            case Scalar(op, args, dtype):
                values = tuple(self.value(a) for a in args)
                return dtype.round(np.asarray(apply(op, values, tuple(a.dtype for a in args), dtype)))
        raise TypeError(f"not an expression: {expr!r}")


def _reduced(value: Any, axes: tuple[Index, ...], kept: int, combine: str, dtype: DType) -> np.ndarray:
    whole = np.broadcast_to(value, tuple(i.extent for i in axes))
    wide = whole.astype(np.float64) if dtype.is_floating else whole
    start = np.asarray(identity(combine, dtype).value, wide.dtype)[()]
    with np.errstate(all="ignore"):
        result = _REDUCE[combine].reduce(wide, axis=tuple(range(kept, whole.ndim)), initial=start)
    return dtype.round(np.asarray(result).astype(dtype.numpy))
