"""Functions cut out of a larger computation: what they need of it becomes their params."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Node, Value

_MADE_ANYWHERE = {"constant", "unset"}


def depends_on(params: Iterable[Value], results: Iterable[Value]) -> set[Value]:
    """The values at and below `results` that `params` have an influence on, the params included."""
    depends = set(params)
    first = min((p.node.serial for p in depends), default=0)
    for node in _newer(results, first):
        if any(v in depends for v in node.inputs):
            depends.update(node.outputs)
    return depends


def _newer(results: Iterable[Value], serial: int) -> list[Node]:
    """The nodes at and below `results` that were made after the node of that number, inputs before users."""
    seen: set[Node] = set()
    stack = [v.node for v in results]
    while stack:
        node = stack.pop()
        if node not in seen and node.serial > serial:
            seen.add(node)
            stack += [v.node for v in node.inputs]
    return sorted(seen, key=lambda n: n.serial)


def close(
    build: Builder,
    params: Sequence[Value],
    alternatives: Sequence[Sequence[Value]],
    inside: Callable[[Value], bool],
) -> tuple[list[Function], list[Value]]:
    """For each of `alternatives`, the Function of `params`, then captures, that gives these results; and what
    is captured. The Functions have the same params.

    `inside` tells which values they compute themselves. What these need of others is captured, but for
    constants and memory. Below a value that is not inside, nothing is.
    """
    captured: dict[Value, Value] = {}
    table: dict[Value, Value] = {p: p for p in params}

    def new(value: Value) -> Value:
        if value in table:
            return table[value]
        if value.node.op.name in _MADE_ANYWHERE:
            return value
        if value not in captured:
            captured[value] = build.fresh_parameter("captured", value.type)
        return captured[value]

    for node in _inside([v for results in alternatives for v in results], table, inside):
        made = build.again(node, [*map(new, node.inputs)])
        table.update(zip(node.outputs, made.outputs, strict=True))
    made_results = [tuple(map(new, results)) for results in alternatives]
    all_params = (*params, *captured.values())
    return [Function(all_params, results) for results in made_results], list(captured)


def _inside(results: Iterable[Value], known: Iterable[Value], inside: Callable[[Value], bool]) -> list[Node]:
    """The nodes that are inside, inputs before users."""
    known = set(known)
    seen: set[Node] = set()
    stack = [v for v in results if v not in known and inside(v)]
    while stack:
        node = stack.pop().node
        if node not in seen:
            seen.add(node)
            stack += [v for v in node.inputs if v not in known and inside(v)]
    return sorted(seen, key=lambda n: n.serial)


def inline(function: Function, args: Sequence[Value]) -> list[Value]:
    """Return the results of `function` of `args`. Its loops begin families of their own: those of another
    inlining have other values.
    """
    table = dict(zip(function.params, args, strict=True))
    families: dict[int, int] = {}
    for node in function.nodes:
        if any(v in table for v in node.inputs) and not all(v in table for v in node.outputs):
            build: Builder = node.outputs[0].recorder
            attrs = node.attrs
            if node.op.name == "loop":
                attrs = attrs | {"family": families.setdefault(attrs["family"], build.serial)}
            made = build.again(node, [table.get(v, v) for v in node.inputs], attrs)
            table.update(zip(node.outputs, made.outputs, strict=True))
    return [table.get(r, r) for r in function.results]
