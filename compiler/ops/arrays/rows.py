"""One row of a tensor, at a position that is data: what loops write into the arrays that they fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, NUMERIC
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, compatible, shape_text
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.stmt import Stmt, Store
from staticgraph.compiler.ops.arrays.gathering import checked
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.arrays.scatter import slices
from staticgraph.compiler.ops.kinds import Out, View, routine
from staticgraph.compiler.ops.samples import Sample, indices, real
from staticgraph.compiler.ops.statements.loops import each


def _type(tensor: TensorType, index: TensorType, row: TensorType) -> TensorType:
    require(index.shape in (None, ()), f"index has shape {shape_text(index.shape)}, it must be one number")
    if tensor.shape is None or row.shape is None:
        return tensor
    require(len(tensor.shape) > 0, "the tensor is a number, it has no rows")
    fits = compatible(tensor.shape[1:], row.shape)
    require(fits, f"a row of {tensor} has shape {shape_text(tensor.shape[1:])}, not {shape_text(row.shape)}")
    return tensor


def _row_op(
    name: str, doc: str, combine: Callable[[Any, Any], Any], grad: Callable[..., Any], dtypes: Any
) -> OpDef:
    def numpy(tensor: np.ndarray, index: np.ndarray, row: np.ndarray) -> np.ndarray:
        out = tensor.copy()
        if 0 <= index < len(tensor):
            out[int(index)] = combine(out[int(index)], row)
        return out

    def statements(outs: tuple[Out, ...], tensor: View, index: View, row: View) -> tuple[Stmt, ...]:
        out = outs[0]
        place, inside = checked(index[()], tensor.shape[0])

        def write(rows: tuple[Expr, ...], columns: tuple[Expr, ...]) -> Store:
            at = (*rows, *columns)
            return Store(out.buffer, at, combine(out[at], row[columns]))

        return each(out, tensor.__getitem__) + slices((), (place,), inside, tensor.shape[1:], write)

    statements.__doc__ = doc
    samples = [
        Sample(real(4, 3), indices(below=4), real(3)),
        Sample(real(3), indices(below=3, dtype="int64"), real()),
        Sample(real(2, 2, 3), indices(below=2), real(2, 3)),
    ]
    return routine(
        name=name, type=_type, numpy=numpy, samples=samples, vars={"index": "I"}, grad=grad,
        dtypes={"T": dtypes, "I": INDEX}, differentiable=(0, 2),
    )(statements)


def _update_grad(g: Any, y: Any, tensor: Any, index: Any, row: Any) -> tuple[Any, ...]:
    return row_update(g, index, ops.zeros_like(row)), None, ops.gather(g, index)


def _add_grad(g: Any, y: Any, tensor: Any, index: Any, row: Any) -> tuple[Any, ...]:
    return g, None, ops.gather(g, index)


row_update = _row_op(
    "row_update",
    "The tensor with the row at `index` replaced by `row`; unchanged where it has no such row.",
    lambda old, new: new,
    _update_grad,
    ANY,
)
row_add = _row_op(
    "row_add",
    "The tensor with `row` added to the row at `index`; unchanged where it has no such row.",
    lambda old, new: old + new,
    _add_grad,
    NUMERIC,
)
