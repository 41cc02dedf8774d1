"""Collectives of a program on disk: numbers of nodes of the step, since their lines are those of a script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from staticgraph.compiler.fusion.group import is_collective
from staticgraph.compiler.graph.function import Function, Node
from staticgraph.compiler.lower.program import HostCall, Ref


def collective_numbers(function: Function, calls: Sequence[HostCall]) -> list[int] | None:
    """Return the numbers among the collectives of `function` of the calls of its program.

    None if something else is called, or a collective that the function does not have.
    """
    if not all(call.is_collective for call in calls):
        return None
    left = dict(enumerate(_collectives(function))) if calls else {}
    numbers = []
    for call in calls:
        alike = (n for n, node in left.items() if _key(node) == _key(call.node))
        number = next(alike, None)
        if number is None:
            return None
        del left[number]
        numbers.append(number)
    return numbers


def collective_calls(function: Function, numbers: Iterable[int]) -> list[HostCall]:
    """Return the calls with these numbers. Their places in memory are known to machine code alone."""
    found = list(_collectives(function))
    return [_call(found[number]) for number in numbers]


def _call(node: Node) -> HostCall:
    assert node.op.meaning is not None, node
    inputs = tuple((Ref(0), value.type) for value in node.inputs)
    return HostCall(node.op.meaning, node.attrs, inputs, (), node)


def _collectives(function: Function) -> Iterator[Node]:
    """Yield the collectives of a Function, and of those inside of its loops and branches."""
    for node in function.nodes:
        if is_collective(node):
            yield node
        for value in node.attrs.values():
            for inner in value if isinstance(value, tuple) else (value,):
                if isinstance(inner, Function):
                    yield from _collectives(inner)


def _key(node: Node) -> tuple[object, ...]:
    return node.op.name, tuple(node.attrs.items()), tuple(v.type for v in node.inputs), node.where
