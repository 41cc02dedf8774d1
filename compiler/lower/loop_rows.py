"""Rows that a loop reads and writes in their places.

    gather(x, i)            of a captured x       the body gets the address of the row
    s' = row_update(s, i, r)  for a carried s       the body writes r to the address of the row

where `i` is a carried number, plus a constant: then the loop can find the address before each round, and
nothing is copied. A row that does not exist is read as zeros, and written to memory that nothing reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.function import Function, Node, Value, substitute
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A row of the tensor that is this input or output of a loop: the row `counter` plus `offset`."""

    tensor: int
    counter: int  # the number of a carried value
    offset: int


@dataclass(frozen=True, slots=True)
class ByRow:
    """A loop whose body gets rows: its arguments are what is `carried`, then `captured`, then rows to read;
    its results are the condition, what is carried, and rows to write. Numbers are those of the node's
    outputs, and of its captures.
    """

    body: Function
    carried: tuple[int, ...]
    captured: tuple[int, ...]
    reads: tuple[LoopRow, ...]
    writes: tuple[LoopRow, ...]


def by_row(node: Node) -> ByRow:
    """The loop `node` with as many rows in place as can be."""
    body, count = node.attrs["body"], node.attrs["carried"]
    carried, captured = body.params[:count], body.params[count:]
    uses = body.users
    writes: dict[int, tuple[LoopRow, Value]] = {}
    for n, (param, result) in enumerate(zip(carried, body.results[1:], strict=True)):
        if _is_write(param, result, uses.get(param, ()), body):
            row = _row(n, result.node.inputs[1], carried)
            if row is not None:
                writes[n] = row, result.node.inputs[2]
    moved = {row.counter for row, _ in writes.values()}
    writes = {n: found for n, found in writes.items() if n not in moved}
    reads: dict[Value, LoopRow] = {}
    for n, param in enumerate(captured):
        reads |= _reads(n, param, carried, uses.get(param, ()), body)
    build = body.results[0].recorder
    stand_ins = {v: build.fresh_parameter("row", v.type) for v in reads}
    whole = {param for param in captured if any(n.inputs[0] is param for v in reads for n in (v.node,))}
    kept = tuple(n for n in range(count) if n not in writes)
    left = tuple(n for n, param in enumerate(captured) if param not in whole)
    results = [body.results[0], *(body.results[1 + n] for n in kept), *(r for _, r in writes.values())]
    params = (*(carried[n] for n in kept), *(captured[n] for n in left), *stand_ins.values())
    function = Function(params, tuple(substitute(results, stand_ins)))
    return ByRow(function, kept, left, tuple(reads.values()), tuple(row for row, _ in writes.values()))


def _is_write(param: Value, result: Value, users: Sequence[Node], body: Function) -> bool:
    """Return True if an iteration only writes one row of a carried tensor, in whole cache lines."""
    node = result.node
    only = list(users) == [node] and node.op.name == "row_update" and node.inputs[0] is param
    used = sum(r is result for r in body.results)
    inside = any(result in n.inputs for n in body.nodes)
    return (
        only
        and used == 1
        and not inside
        and all(v is not param for v in node.inputs[1:])
        and _whole_lines(result)
    )


def _reads(
    n: int, param: Value, carried: Sequence[Value], users: Sequence[Node], body: Function
) -> dict[Value, LoopRow]:
    """The rows of a captured tensor that the body reads, if it reads nothing else of it."""
    found: dict[Value, LoopRow] = {}
    for node in users:
        attrs = node.attrs
        plain = (
            node.op.name == "gather"
            and node.inputs[0] is param
            and attrs["axis"] == 0
            and not attrs["batch_dims"]
        )
        row = _row(n, node.inputs[1], carried) if plain else None
        if row is None or not _whole_lines(param):
            return {}
        found[node.outputs[0]] = row
    return {} if param in body.results else found


def _row(n: int, index: Value, carried: Sequence[Value]) -> LoopRow | None:
    """The row at `index`, if that is a carried number plus a constant."""
    offset = 0.0
    if index.node.op.name in ("add", "subtract") and index.rank == 0:
        left, right = index.node.inputs
        sign = 1 if index.node.op.name == "add" else -1
        if (constant := number(right)) is None:
            return None
        index, offset = left, sign * constant
    plain = index.rank == 0 and index.dtype.name in ("int32", "int64") and index in carried
    return LoopRow(n, list(carried).index(index), int(offset)) if plain else None


def _whole_lines(tensor: Value) -> bool:
    """Return True if each row fills whole cache lines: kernels may write up to the end of the last line."""
    if not tensor.rank or same(tensor.shape[0], 0):
        return False
    row = math.prod(tensor.shape[1:]) * tensor.dtype.size
    return not same(row, 0) and same(row % ALIGNMENT, 0)
