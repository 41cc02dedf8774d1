"""Arithmetic is done before a reshape, not after it, where one kernel can then do both.

    gelu(reshape(x @ w, [n, t, d]) + b)      ->  reshape(gelu(x @ w + b), [n, t, d])
    reshape(normal, [n, h, w, c]) * scale    ->  reshape(normal * reshape(scale, [8, c/8]), [n, h, w, c])

A kernel has loops over one shape, and a reshape is free: the same memory under another shape. So what follows
a reshape would be another kernel, which reads again what the first one has stored.

Elementwise operations move that follow a reshape of what a kernel computes. Each of their other operands is
there before, and it repeats along axes that the reshape keeps apart from others, or not at all. Together they
have one result: with several, more would have to be stored than without the pass.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence

from staticgraph.compiler.graph.function import RESHAPES, Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import Kind, ops, recording
from staticgraph.compiler.graph.sizes import AnySize, quotient, same, same_shape

Shape = Sequence[AnySize]
Grouping = Sequence[tuple[Shape, Shape]]  # the sizes before and after a reshape, where their products meet

_COMPUTED = frozenset({Kind.ELEMENTWISE, Kind.REDUCTION, Kind.CONTRACTION})
_GIVEN = frozenset({"parameter", "constant", "unset"})


def sink_reshapes(function: Function) -> Function:
    """`function` with arithmetic before reshapes where it can be."""
    users: Mapping[Value, Sequence[Node]] | None = None
    moved: dict[Node, Grouping] = {}
    for node in function.nodes:
        if node.op.name in RESHAPES and _is_computed(node.inputs[0].node):
            users = users or function.users
            grouping = grouped(node.inputs[0].shape, node.outputs[0].shape)
            if grouping and (arithmetic := _arithmetic(node, grouping, users, function.results)):
                moved |= dict.fromkeys((node, *arithmetic), grouping)
    return _moved(function, moved) if moved else function


def grouped(before: Shape, after: Shape) -> Grouping | None:
    """The least groups of axes of two shapes that have equal products, None if that is not known of some."""
    groups = []
    left, right = [*before], [*after]
    while left or right:
        a, b = [left.pop(0)] if left else [], [right.pop(0)] if right else []
        while not same(size := math.prod(a), other := math.prod(b)):
            if right and quotient(size, other) is not None:
                b.append(right.pop(0))
            elif left and quotient(other, size) is not None:
                a.append(left.pop(0))
            else:
                return None
        groups.append((tuple(a), tuple(b)))
    return groups


def _is_computed(node: Node) -> bool:
    """Return True if a kernel may end with a node, unlike one that only moves elements."""
    return node.op.element is not None and node.op.kind in _COMPUTED


def _arithmetic(
    reshape: Node, grouping: Grouping, users: Mapping[Value, Sequence[Node]], results: Sequence[Value]
) -> list[Node]:
    """The operations that move before a reshape, in their order."""
    (value,) = reshape.outputs
    inside, found = {value}, list[Node]()
    for node in _below(reshape, inside, users):
        if node.op.kind is not Kind.ELEMENTWISE or node.op.element is None or len(node.outputs) != 1:
            continue
        (result,) = node.outputs
        others = [v for v in node.inputs if v not in inside]
        if same_shape(result.shape, value.shape) and all(_fits(v, reshape, grouping) for v in others):
            inside.add(result)
            found.append(node)
    moving = {*found}
    read = [v for v in inside if v in results or not moving.issuperset(users.get(v, ()))]
    return found if len(read) == 1 and value not in read else []


def _below(reshape: Node, inside: set[Value], users: Mapping[Value, Sequence[Node]]) -> Iterator[Node]:
    """The users of a reshape and of what has come to be `inside`, after what they read."""
    (value,) = reshape.outputs
    waiting = [(node.serial, node) for node in users.get(value, ())]
    heapq.heapify(waiting)
    seen = {node for _, node in waiting}
    while waiting:
        _, node = heapq.heappop(waiting)
        yield node
        if inside.issuperset(node.outputs):
            for user in users.get(node.outputs[0], ()):
                if user not in seen:
                    seen.add(user)
                    heapq.heappush(waiting, (user.serial, user))


def _fits(operand: Value, reshape: Node, grouping: Grouping) -> bool:
    """Return True if an operand of arithmetic can be read before a reshape as well."""
    if operand.node.op.name not in _GIVEN and operand.node.serial > reshape.serial:
        return False  # it may depend on the reshape, and one kernel may compute both row by row
    shape = regrouped(operand.shape, grouping)
    if shape is None or not same_shape(operand.shape, reshape.outputs[0].shape):
        return shape is not None
    # A large operand must lie in memory anyway: nothing is gained if it is stored in place of the other.
    source = operand.node
    return source.op.name in _GIVEN or (
        source.op.name in RESHAPES and same_shape(source.inputs[0].shape, shape)
    )


def regrouped(shape: Shape, grouping: Grouping) -> Shape | None:
    """The shape before a reshape of what broadcasts with its result, None if that repeats within a group."""
    rank = sum(len(after) for _, after in grouping)
    padded = [1] * (rank - len(shape)) + [*shape]
    made: list[AnySize] = []
    for before, after in grouping:
        here, padded = padded[: len(after)], padded[len(after) :]
        if all(same(n, 1) for n in here):
            made += [1] * len(before)
        elif same_shape(here, after):
            made += before
        else:
            return None
    return tuple(made)


def _moved(function: Function, moved: Mapping[Node, Grouping]) -> Function:
    """`function` with operations before the reshapes that they follow."""
    unshaped: dict[Value, Value] = {}  # what has been reshaped

    def rebuilt(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
        build = node.outputs[0].recorder
        source = unshaped.get(inputs[0]) if node.op.name in RESHAPES else None
        if source is None and (node not in moved or node.op.name in RESHAPES):
            again = build.again(node, inputs).outputs
            if node in moved:
                (unshaped[again[0]],) = inputs
            return again
        with build.at(node.where), recording(build):
            if source is not None:
                return (_shaped(source, node.outputs[0].shape),)
            operands = [_operand(v, unshaped, moved[node]) for v in inputs]
            (result,) = build.again(node, operands).outputs
            made = _shaped(result, node.outputs[0].shape)
            unshaped[made] = result
            return (made,)

    return transform(function, rebuilt)


def _operand(value: Value, unshaped: Mapping[Value, Value], grouping: Grouping) -> Value:
    """The stand-in for an operand before the reshape."""
    shape = regrouped(value.shape, grouping)
    assert shape is not None, value
    source = unshaped.get(value, value)
    if source is value and value.node.op.name in RESHAPES:
        (source,) = value.node.inputs
    if same_shape(source.shape, shape):
        return source
    ones = next((d for d, n in enumerate(shape) if not same(n, 1)), len(shape))
    return _shaped(value, shape[ones:])


def _shaped(value: Value, shape: Shape) -> Value:
    made: Value = value if same_shape(value.shape, shape) else ops.reshape(value, shape=tuple(shape))
    return made
