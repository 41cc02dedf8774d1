"""Static values: shapes, axes, conditions and the like, which must be known while a step is captured.

A value that depends on constants, and on feeds for whose values the step is compiled, is known. If it depends
on other feeds, few numbers in all, the step is compiled for their values, too. An earlier stage computes
everything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.capture.request import SHORT, Needs, NeedsFeeds, NeedsStage
from staticgraph.compiler.capture.walk import Walk
from staticgraph.compiler.graph.builder import plain
from staticgraph.compiler.graph.function import Node, Value, toposort
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation, Tensor


def attributes(walk: Walk, op: Operation) -> dict[str, Any] | Needs:
    """Return the attributes of an operation, with its operands as Python values."""
    attrs = dict(op.attrs)
    for name, operand in op.operands.items():
        found = static_value(walk, operand)
        if isinstance(found, Needs):
            return found
        attrs[name] = plain(found)
    return {p.name: attrs[p.name] for p in op.definition.params if p.name in attrs}


def static_value(walk: Walk, tensor: Tensor) -> np.ndarray | Needs:
    """Return the value of a tensor that must be known now.

    For all other uses a feed stays a parameter: it has derivatives.
    """
    if (needs := walk.lacking([tensor])) is not None:
        return needs
    value = walk.feeds.known(walk.value(tensor))
    for known in (value.known, _answer(value), _clipped(value)):
        if known is not None:
            return known
    nodes = toposort([value])
    below = {v for node in nodes for v in node.outputs}
    feeds = tuple(t for t, param in walk.feeds.params.items() if param in below)
    params = [v for v in below if v.node.op.name == "parameter"]
    short = len(params) == len(feeds) and sum(v.size for v in params) <= SHORT
    if tensor in walk.feeds.params or (feeds and short and not any(map(_compares, nodes))):
        return NeedsFeeds(feeds)
    return NeedsStage((tensor,))


def _answer(value: Value) -> np.ndarray | None:
    """Return a truth value that open sizes tell, such as `n > 2`, in the run at hand: it becomes a guard."""
    node = value.node
    if not value.dtype.is_bool or node.op.reference is None or node.op.effect is not Effect.PURE:
        return None
    inputs = [v.known if v.known is not None else _answer(v) for v in node.inputs]
    if not inputs or any(each is None for each in inputs):
        return None
    return np.asarray(node.op.reference(*inputs, **node.attrs), bool)


def _clipped(value: Value) -> np.ndarray | None:
    """Return the limit of a number that is clipped to one value, as the length of a `bincount` may be."""
    if value.node.op.name != "minimum" or value.shape:
        return None
    for most, other in (value.node.inputs, value.node.inputs[::-1]):
        least = [v.constant for v in other.node.inputs] if other.node.op.name == "maximum" else []
        if most.constant is not None and any(n is not None and n >= most.constant for n in least):
            return most.constant
    return None


def _compares(node: Node) -> bool:
    """Return True if a node gives the greatest or least of several numbers, such as that of lengths.

    A step would have to be compiled for each order of these numbers: an earlier stage computes it.
    """
    return node.op.name in ("reduce_max", "reduce_min") and node.inputs[0].size > 1


def flag(walk: Walk, value: Value) -> Value | NeedsFeeds:
    """Return a truth value, as a constant if it depends on nothing but fed truth values.

    Steps are compiled for each value of these feeds.
    """
    seen: set[Value] = set()
    stack = [value]
    while stack and len(seen) <= SHORT:
        each = stack.pop()
        if each not in seen:
            seen.add(each)
            stack += each.node.inputs
    sources = [v for v in seen if not v.node.inputs and v.constant is None]
    flags = walk.feeds.flags
    if stack or not sources or any(v not in flags for v in sources):
        return value
    if unknown := tuple(flags[v] for v in sources if v not in walk.feeds.constants):
        return NeedsFeeds(unknown)
    return walk.feeds.known(value)


def known_trip_count(walk: Walk, loop: Operation) -> AnySize | None:
    """Return a bound of the trip count of a loop, if an earlier stage has found it out."""
    param = walk.feeds.params.get(loop.outputs[-1])
    constant = None if param is None else walk.feeds.constants.get(param)
    known = None if constant is None else constant.known
    return None if known is None else known.item()
