"""Operations with hundreds of inputs become trees of operations with fewer.

    add_n(x0, ..., x199)     ->  add_n(add_n(x0, ..., x127), x128, ..., x199)
    concat(x0, ..., x199)    ->  concat(concat(x0, ..., x127), concat(x128, ..., x199))
    stack(x0, ..., x199)     ->  concat(stack(x0, ..., x127), stack(x128, ..., x199))

The time that code generation takes for one kernel grows faster than the number of its buffers. The parts of a
tree are also much alike, and one kernel is made of all that are. Additions keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.opdef import ops

MOST_INPUTS = 128  # of one operation


def is_wide(node: Node) -> bool:
    """Return True if `narrowed` replaces a node."""
    return len(node.inputs) > MOST_INPUTS and node.op.name in _TREES and node.inputs[0].dtype is not string


def narrowed(node: Node, inputs: Sequence[Value]) -> Value:
    """Return the result of a wide node, for these inputs, as that of several nodes."""
    return _TREES[node.op.name](node, inputs)


def _sum(node: Node, inputs: Sequence[Value]) -> Value:
    total, rest = inputs[0], inputs[1:]
    for part in _parts(rest, MOST_INPUTS - 1):
        total = ops.add_n([total, *part])
    return total


def _concat(node: Node, inputs: Sequence[Value]) -> Value:
    axis = node.attrs["axis"]
    return ops.concat([ops.concat(part, axis=axis) for part in _parts(inputs, MOST_INPUTS)], axis=axis)


def _stack(node: Node, inputs: Sequence[Value]) -> Value:
    axis = node.attrs["axis"]
    return ops.concat([ops.stack(part, axis=axis) for part in _parts(inputs, MOST_INPUTS)], axis=axis)


def _parts(inputs: Sequence[Value], count: int) -> list[Sequence[Value]]:
    return [inputs[start : start + count] for start in range(0, len(inputs), count)]


_TREES: dict[str, Callable[[Node, Sequence[Value]], Value]] = {
    "add_n": _sum,
    "concat": _concat,
    "stack": _stack,
}
