"""Operators with graphs inside: branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.building import nest
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int32, int64
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.branches import cond
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, Value, operator
from staticgraph.formats.onnx.proto import GraphProto
from staticgraph.formats.onnx.tensors import dtype_of
from staticgraph.formats.onnx.values import cast, constant, known_value, permuted, reshape, sizes

_LONGEST = 1 << 12  # rounds that are written out of a loop that has no number of them
_MOST_ROWS = 1 << 24  # of an array in which values are collected
_UNROLLED = 8  # rounds of a loop with a known number of rounds that are written out


@operator("If")
def _if(node: Node, condition: Tensor) -> Any:
    branches = [node.required(name) for name in ("then_branch", "else_branch")]
    known = known_value(condition)
    if not all(info.type.WhichOneof("value") in (None, "tensor_type") for info in branches[0].output):
        known = node.known(condition, "condition")  # only tensors can be chosen while the graph runs
    if known is not None:
        return tuple(node.scope.subgraph(branches[0 if np.ravel(known)[0] else 1], []))
    then, other = (lambda graph=graph: node.scope.subgraph(graph, []) for graph in branches)
    made = cond(reshape(condition, []), then, other, strict=True)
    return tuple(made)


@operator("Loop")
def _loop(node: Node, count: Tensor | None = None, condition: Tensor | None = None, *carried: Value) -> Any:
    body: GraphProto = node.required("body")
    state = len(carried)
    known = None if count is None else known_value(count)
    if not all(isinstance(value, Tensor) for value in carried):
        known = None if count is None else node.known(count, "number of rounds")
        return _unrolled(node, body, known, condition, list(carried))
    if known is not None and _keeps_on(body, condition) and int(np.ravel(known)[0]) <= _UNROLLED:
        return _unrolled(node, body, known, None, list(carried))
    return _rounds(node, body, count, condition, list(carried), state)


def _keeps_on(body: GraphProto, condition: Tensor | None) -> bool:
    """Return True if a loop ends only by its trip count.

    The condition is true at the start, and the body passes it on as it is or returns a constant that is true.
    """
    if condition is not None and not np.all(known_value(condition)):
        return False
    out, given = body.output[0].name, body.input[1].name
    for n in body.node:
        if out in list(n.output):
            if n.op_type == "Identity" and n.input[0] == given:
                return True
            literal = [a.t for a in n.attribute if a.name == "value"] if n.op_type == "Constant" else []
            return bool(literal) and bool(any(literal[0].raw_data) or any(literal[0].int32_data))
    return out == given or any(t.name == out and any(t.raw_data or t.int32_data) for t in body.initializer)


def _unrolled(
    node: Node, body: GraphProto, count: np.ndarray | None, condition: Tensor | None, carried: list[Value]
) -> tuple[Value, ...]:
    """The rounds one after the other: their number is known, or becomes known while they are built."""
    limit = _LONGEST if count is None else int(np.ravel(count)[0])
    going: Tensor | None = condition
    rows: list[list[Tensor]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    for i in range(limit):
        if going is not None and not np.all(node.known(going, "condition")):
            break
        here = constant(True, bool_) if going is None else going
        going, *made = node.scope.subgraph(body, [constant(i, int64), here, *carried])
        carried, scanned = made[: len(carried)], made[len(carried) :]
        for row, value in zip(rows, scanned, strict=True):
            row.append(value)
    results = [_stacked(row, body.output[1 + len(carried) + i]) for i, row in enumerate(rows)]
    return (*carried, *results)


def _stacked(rows: Sequence[Tensor], info: Any) -> Tensor:
    if rows:
        return ops.stack(list(rows), axis=0)
    type = info.type.tensor_type
    shape = [d.dim_value for d in type.shape.dim]
    return constant(np.zeros([0, *shape]), dtype_of(type.elem_type, "a result of the loop"))


def _rounds(
    node: Node,
    body: GraphProto,
    count: Tensor | None,
    condition: Tensor | None,
    carried: list[Tensor],
    state: int,
) -> tuple[Tensor, ...]:
    """A loop of the graph. What is scanned is collected in arrays that are as long as the loop may be."""
    scans = body.output[1 + state :]
    known = None if count is None else known_value(count)
    if scans and (count is None or (known is not None and np.ravel(known)[0] > _MOST_ROWS)):
        raise node.unsupported("a loop without a number of rounds, whose values are collected")
    limit = constant(np.iinfo(np.int64).max, int64) if count is None else reshape(cast(count, int64), [])
    going = constant(True, bool_) if condition is None else reshape(condition, [])
    arrays: tuple[TensorArray, ...] = ()
    if scans:
        first = node.scope.subgraph(body, [constant(0, int64), going, *carried])  # only to know its types
        arrays = tuple(_array(row, limit) for row in first[1 + state :])

    def goes_on(i: Tensor, going: Tensor, *rest: Any) -> Tensor:
        return ops.logical_and(i < limit, going)

    def round(i: Tensor, going: Tensor, values: Any, arrays: Any) -> Any:
        going, *made = node.scope.subgraph(body, [i, going, *values])
        at = cast(i, int32)
        written = tuple(a.write(at, v) for a, v in zip(arrays, made[state:], strict=True))
        return i + constant(1, int64), reshape(going, []), tuple(made[:state]), written

    start = (constant(0, int64), going, tuple(carried), arrays)
    last, _, values, arrays = _looped(goes_on, round, start)
    rows = [a.stack() for a in arrays]
    if _keeps_on(body, condition):
        return (*values, *rows)
    return (*values, *(ops.strided_slice(r, begin=(0,), end=ops.stack([last], axis=0)) for r in rows))


def _array(row: Tensor, count: Tensor) -> TensorArray:
    """Create an array that collects `count` rows of the dtype and shape of `row`."""
    return TensorArray(row.dtype, size=cast(count, int32), element_shape=row.shape)


def _looped(
    goes_on: Callable[..., Any], round: Callable[..., Any], start: tuple[Any, ...]
) -> tuple[Any, ...]:
    """A loop; where shapes change from round to round, their sizes are taken as unknown."""
    try:
        made = while_loop(goes_on, round, start)
    except ValueError:
        made = while_loop(goes_on, round, start, shape_invariants=nest.map_structure(_unknown_sizes, start))
    return tuple(made)


def _unknown_sizes(value: Tensor | TensorArray) -> TensorShape:
    shape = None if isinstance(value, TensorArray) else value.type.shape
    return TensorShape(None if shape is None else [None] * len(shape))


@operator("Scan")
def _scan(node: Node, *inputs: Tensor) -> Any:
    body: GraphProto = node.required("body")
    count = node.required("num_scan_inputs")
    if node.version < 9:
        return _batched_scan(node, body, count, inputs[1:])
    return _scanned(node, body, count, inputs)


def _batched_scan(node: Node, body: GraphProto, count: int, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Scan each member of a batch by itself: in the first version everything has a batch in front."""
    batch = node.sizes(inputs[0])[0]
    made = [
        _scanned(node, body, count, [ops.gather(x, constant(i, int64), axis=0) for x in inputs])
        for i in node.times(batch)
    ]
    return tuple(ops.stack(list(rows), axis=0) for rows in zip(*made, strict=True))


def _scanned(node: Node, body: GraphProto, count: int, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    state = len(inputs) - count
    carried, rows = list(inputs[:state]), list(inputs[state:])
    outputs = len(body.output) - state
    axes = node.get("scan_input_axes") or [0] * count
    directions = node.get("scan_input_directions") or node.get("directions") or [0] * count
    for i, (axis, backwards) in enumerate(zip(axes, directions, strict=True)):
        rows[i] = _first(rows[i], node.axis(axis, rows[i]))
        rows[i] = ops.reverse(rows[i], axis=(0,)) if backwards else rows[i]
    length = sizes(rows[0])[0]
    if not isinstance(length, Tensor) and length <= _UNROLLED:
        made: list[list[Tensor]] = [[] for _ in range(outputs)]
        for i in range(length):
            found = node.scope.subgraph(
                body, [*carried, *(ops.gather(x, constant(i, int64), axis=0) for x in rows)]
            )
            carried = found[:state]
            for row, value in zip(made, found[state:], strict=True):
                row.append(value)
        collected = [_stacked(row, body.output[state + i]) for i, row in enumerate(made)]
    else:
        carried, collected = _scan_loop(node, body, carried, rows, length)
    out_axes = node.get("scan_output_axes") or [0] * outputs
    out_directions = node.get("scan_output_directions") or [0] * outputs
    for i, (axis, backwards) in enumerate(zip(out_axes, out_directions, strict=True)):
        made_rows = ops.reverse(collected[i], axis=(0,)) if backwards else collected[i]
        rank = node.rank(made_rows)
        order = list(range(1, rank))
        order.insert(axis + rank if axis < 0 else axis, 0)
        collected[i] = permuted(made_rows, order)
    return (*carried, *collected)


def _first(x: Tensor, axis: int) -> Tensor:
    """`x` with an axis moved to the front."""
    return permuted(x, [axis, *(a for a in range(len(x.type.shape or ())) if a != axis)])


def _scan_loop(
    node: Node, body: GraphProto, carried: list[Tensor], rows: list[Tensor], length: Any
) -> tuple[list[Tensor], list[Tensor]]:
    state = len(carried)
    limit = cast(length, int32) if isinstance(length, Tensor) else constant(length, int32)
    beginning = [ops.gather(x, constant(0, int32), axis=0) for x in rows]
    first = node.scope.subgraph(body, [*carried, *beginning])  # only to know its types
    arrays = tuple(_array(row, limit) for row in first[state:])

    def round(i: Tensor, values: Any, arrays: Any) -> Any:
        here = [ops.gather(x, i, axis=0) for x in rows]
        made = node.scope.subgraph(body, [*values, *here])
        written = tuple(a.write(i, v) for a, v in zip(arrays, made[state:], strict=True))
        return i + constant(1, int32), tuple(made[:state]), written

    if not rows:
        raise OnnxError("a scan has nothing to go over")
    start = (constant(0, int32), tuple(carried), arrays)
    _, values, arrays = _looped(lambda i, *rest: i < limit, round, start)
    return list(values), [a.stack() for a in arrays]
