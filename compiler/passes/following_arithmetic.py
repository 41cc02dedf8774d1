"""Arithmetic that follows a tensor whose rows a loop computes, done in its rounds: the rows are in the cache.

    y = rows f(x[i]);  relu(y + bias) * z    ->    rows relu(f(x[i]) + bias) * z[i]

What is followed must be read by nothing else. Values of its shape, as `z`, are read row by row, and those
that are the same for all rows, as `bias`, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.sizes import same, same_shape
from staticgraph.compiler.support.dataclass import dataclass

_FOLLOWED = -1  # among the operands of a step: the value before it


@dataclass(frozen=True, slots=True)
class _Step:
    """One op: its operands are numbers of values among those by rows, and behind them of whole ones."""

    op: Any
    attrs: tuple[tuple[str, Any], ...]
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The ops that follow a value.

    Attributes:
        steps: The ops, alike wherever the same follows.
        rows: The values that are read row by row.
        whole: Those that are read as a whole.
    """

    steps: tuple[_Step, ...] = ()
    rows: tuple[Value, ...] = ()
    whole: tuple[Value, ...] = ()


NOTHING = Arithmetic()


def applied(steps: Sequence[_Step], value: Value, others: Sequence[Value]) -> Value:
    """Apply the steps to a row of what is followed; `others` are the values by rows, then the whole ones."""
    for step in steps:
        inputs = tuple(value if number == _FOLLOWED else others[number] for number in step.operands)
        value = value.recorder.node(step.op, inputs, dict(step.attrs)).outputs[0]
    return value


class Followed:
    """The nodes of a function that are followed by arithmetic.

    Args:
        function: The function.
        heads: The nodes whose results may be followed.
    """

    def __init__(self, function: Function, heads: Iterable[Node]) -> None:
        self._users, self._results = function.users, {*function.results}
        self._chains: dict[Node, list[Node]] = {}  # of each node of it
        for head in heads:
            chain = [head]
            while (after := self._after(chain[-1].outputs[0])) is not None:
                chain.append(after)
            self._chains |= dict.fromkeys(chain, chain)

    def _after(self, value: Value) -> Node | None:
        """The only node that reads a value, if it computes an element from each."""
        users = self._users.get(value, ())
        if len(users) != 1 or value in self._results or users[0].inputs.count(value) > 1:
            return None
        (node,) = users
        if node.op.kind is not Kind.ELEMENTWISE or len(node.outputs) > 1 or node in self._chains:
            return None
        fits = same_shape(node.outputs[0].shape, value.shape)
        return (
            node if fits and all(_is_whole(v, value) or _is_by_rows(v, value) for v in node.inputs) else None
        )

    def is_inner(self, node: Node) -> bool:
        """Return True if a node is done together with one behind it."""
        return node in self._chains and node is not self._chains[node][-1]

    def head(self, node: Node) -> Node:
        """The node that `node` follows, or it itself."""
        return self._chains.get(node, [node])[0]

    def arithmetic(self, node: Node, inputs: Mapping[Node, tuple[Value, ...]]) -> Arithmetic:
        """The ops of a chain that ends at `node`, behind its head; `inputs`: what nodes have by now."""
        if node not in self._chains:
            return NOTHING
        head, *chain = self._chains[node]
        followed = [each.outputs[0] for each in (head, *chain)]
        operands = [
            [None if old is before else new for old, new in zip(each.inputs, inputs[each], strict=True)]
            for each, before in zip(chain, followed, strict=False)
        ]
        others = dict.fromkeys(v for values in operands for v in values if v is not None)
        rows = tuple(v for v in others if _is_by_rows(v, followed[0]))
        whole = tuple(v for v in others if v not in rows)
        numbers: dict[Value | None, int] = {v: number for number, v in enumerate((*rows, *whole))}
        numbers[None] = _FOLLOWED
        steps = (
            _Step(each.op, tuple(each.attrs.items()), tuple(map(numbers.__getitem__, values)))
            for each, values in zip(chain, operands, strict=True)
        )
        return Arithmetic(tuple(steps), rows, whole)


def _is_by_rows(value: Value, followed: Value) -> bool:
    return same_shape(value.shape, followed.shape)


def _is_whole(value: Value, followed: Value) -> bool:
    """Return True if a value is the same for all rows of one that it is broadcast to."""
    return value.rank < followed.rank or (value.rank == followed.rank and same(value.shape[0], 1))
