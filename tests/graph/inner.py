"""Loops and branches of Functions, made by hand for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import OPS


def looped(
    build: Builder,
    cond: Callable[..., Value],
    body: Callable[..., Sequence[Value]],
    init: Sequence[Value],
    captures: Sequence[Value] = (),
    **attrs: Any,
) -> Node:
    """`while cond(*values, *captures): values = body(*values, *captures)`."""
    params = [build.fresh_parameter("carried", v.type) for v in init]
    captured = [build.fresh_parameter("captured", v.type) for v in captures]
    made = body(*params, *captured)
    function = Function((*params, *captured), (cond(*made, *captured), *made))
    pred = cond(*init, *captures)
    given = {
        "body": function,
        "carried": len(init),
        "family": build.serial,
        "bound": None,
        "exact": False,
        "brief": False,
    }
    return build.node(OPS["loop"], (pred, *init, *captures), given | attrs)


def branched(
    build: Builder,
    index: Value,
    functions: Sequence[Callable[..., Sequence[Value]]],
    captures: Sequence[Value],
) -> Node:
    """Return what the function with the number `index` makes of `captures`."""
    params = tuple(build.fresh_parameter("captured", v.type) for v in captures)
    branches = tuple(Function(params, tuple(f(*params))) for f in functions)
    return build.node(OPS["branch"], (index, *captures), {"branches": branches})
