"""Composite ops become the ops that they are written in, wide ops become trees, and markers disappear.

    softmax(x)            ->  exp(x - reduce_max(x)) / reduce_sum(exp(x - reduce_max(x)))
    matmul(z, w)          ->  the same of real numbers, if z and w are complex
    cumsum(x)             ->  cast(cumsum(cast(x, float32)), float16), if x is float16
    watch(x), identity(x) ->  x
    add_n(x0, ..., x199)  ->  add_n(add_n(x0, ..., x127), x128, ..., x199)
    concat(x0, ..., x199) ->  concat(concat(x0, ..., x127), concat(x128, ..., x199))
    stack(x0, ..., x199)  ->  concat(stack(x0, ..., x127), stack(x128, ..., x199))

It runs after differentiation, since composites may have gradients that are better than those of their parts.
`unread_results.py` leaves out what nothing reads.

Operations with hundreds of inputs are narrowed because the time that code generation takes for one kernel
grows faster than the number of its buffers. The parts of a tree are also much alike, and one kernel is made
of all that are. Additions keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import RuleError, refused
from staticgraph.compiler.graph.function import Function, Node, Value, as_outputs, lacks_sizes, transform
from staticgraph.compiler.graph.opdef import Kind, ops, recording
from staticgraph.compiler.graph.sizes import same

_SAVES = {"top_k", "self_adjoint_eig", "square_svd"}  # operations without whose further results work is saved


def expand(function: Function, on_gpu: bool = False) -> Function:
    """`function` without composites, wide ops, markers and costly results that nothing reads.

    Composites stay that need to know a size, here or `on_gpu`: the host computes them.
    """
    if any(map(partial(_is_expanded, on_gpu=on_gpu), function.nodes)):
        function = transform(function, _Expansion(on_gpu))
    if not _SAVES.isdisjoint(function.op_names):
        # What many graphs have none of must not delay them.
        from staticgraph.compiler.passes.unread_results import without_unread_results

        return without_unread_results(function)
    return function


class _Expansion:
    """Rebuilds nodes one after the other, and at once those that a composite turns out to be made of."""

    def __init__(self, on_gpu: bool) -> None:
        self._on_gpu = on_gpu
        self._done: set[Node] = set()  # nothing is left to be expanded in these, nor below them

    def __call__(self, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values of `node` for these inputs, in which nothing is left to be expanded."""
        if _is_expanded(node, self._on_gpu):
            return self._finished(as_outputs(_rebuild(node, inputs, self._on_gpu)))
        made = node.outputs[0].recorder.again(node, inputs)
        self._done.add(made)
        return made.outputs

    def _finished(self, values: Sequence[Value]) -> tuple[Value, ...]:
        new: set[Node] = set()
        stack = [value.node for value in values]
        while stack:
            node = stack.pop()
            if node not in self._done and node not in new:
                new.add(node)
                stack += [value.node for value in node.inputs]
        table: dict[Value, Value] = {}
        for node in sorted(new, key=attrgetter("serial")):
            inputs = tuple([table.get(v, v) for v in node.inputs])
            table.update(zip(node.outputs, self(node, inputs), strict=True))
        return tuple([table.get(v, v) for v in values])


def _is_expanded(node: Node, on_gpu: bool) -> bool:
    if node.op.alias is not None or (len(node.inputs) > MOST_INPUTS and is_wide(node)):
        return True
    return _is_composite(node, on_gpu) or _is_narrow_total(node)


def _is_composite(node: Node, on_gpu: bool) -> bool:
    """Return True if a node is written in other ops: always, or because its numbers are complex."""
    op = node.op
    if op.kind is not Kind.COMPOSITE:
        combines = op.kind in (Kind.CONTRACTION, Kind.REDUCTION) and op.expand is not None
        if not combines or not node.outputs[0].dtype.is_complex:
            return False
    return not lacks_sizes(node, on_gpu)


def _is_narrow_total(node: Node) -> bool:
    """Return True if a total of numbers of 16 bits grows in memory. A single update meets no other."""
    if not node.op.totals_in_float32:
        return False
    (out,) = node.outputs
    alone = node.op.name == "gather_grad" and same(node.inputs[1].type.size, 1)
    return out.dtype.is_floating and out.dtype.size == 2 and not alone


def _rebuild(node: Node, inputs: tuple[Value, ...], on_gpu: bool) -> Value | tuple[Value, ...]:
    build = node.outputs[0].recorder
    if node.op.alias is not None:
        return inputs[node.op.alias]
    with build.at(node.where), recording(build):
        if _is_narrow_total(node):
            from staticgraph.compiler.ops.kinds import in_float32

            wide = in_float32(node.op)
            assert wide is not None
            return wide(*inputs, **node.attrs)
        if not _is_composite(node, on_gpu):
            return narrowed(node, inputs)
        assert node.op.expand is not None
        try:
            return node.op.expand(*inputs, **node.attrs)
        except RuleError as error:
            raise refused(error, node.op.name, node.op.name, node.where) from None


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
