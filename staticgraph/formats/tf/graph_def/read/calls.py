"""Nodes that call functions of the GraphDef's library: branches, loops and plain calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, string
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.graph_def.functions import Library
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.read.control_flow import Part, Reading, branch, loop
from staticgraph.formats.tf.messages.graph import NameAttrList, NodeDef


class Calling(Reading, Protocol):
    """A GraphDef with functions that is being read."""

    library: Library

    def call(self, called: NameAttrList, scope: str, given: Sequence[Any]) -> list[Any]:
        """Add what a function does; its results."""


def add_call(reading: Calling, node: NodeDef, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a node that calls a function."""
    if node.op in reading.library:
        called = NameAttrList(name=node.op, attr=dict(node.attr))
        return tuple(_named(reading, node, reading.call(called, node.name, inputs)))
    return tuple(CALLS[node.op](reading, node, inputs))


def _call(reading: Calling, node: NodeDef, inputs: Sequence[Any]) -> Sequence[Any]:
    return _named(reading, node, reading.call(node.attr["f"].func, node.name, inputs))


def _named(reading: Calling, node: NodeDef, results: Sequence[Any]) -> Sequence[Any]:
    """The results of a call, as outputs of an operation that has the name of the node."""
    if not results or not all(isinstance(each, Tensor) for each in results):
        return results
    made = ops.identity_n(list(results), name=f"{reading.full_name(node.name)}/")
    return made if isinstance(made, tuple) else (made,)


def _if(reading: Calling, node: NodeDef, inputs: Sequence[Any]) -> Sequence[Any]:
    pred, *given = inputs
    sides = [_part(reading, node, f"{key}_branch", given) for key in ("then", "else")]
    return branch(reading, _truth(pred), sides, reading.full_name(node.name))


def _part(reading: Calling, node: NodeDef, key: str, given: Sequence[Any]) -> Part:
    scope = f"{node.name}/{key.partition('_')[0]}"
    return lambda *params: reading.call(node.attr[key].func, scope, params or given)


def _while(reading: Calling, node: NodeDef, inputs: Sequence[Any]) -> Sequence[Any]:
    if not inputs:
        raise GraphDefError("it carries nothing")
    cond, body = (_part(reading, node, key, ()) for key in ("cond", "body"))

    def pred(*params: Any) -> list[Any]:
        return [_truth(value) for value in cond(*params)]

    full, numbers = reading.full_name(node.name), range(len(inputs))
    names = [[f"{full}/{key}/param_{number}" for number in numbers] for key in ("cond", "body")]
    return loop(reading, inputs, pred, body, full, (names[0], names[1]))


def _truth(value: Any) -> Tensor:
    """Numbers hold where they are not zero, texts where they are not empty."""
    if not isinstance(value, Tensor) or value.dtype is bool_:
        return value
    if value.dtype is string:
        return ops.not_equal(value, b"")
    return ops.not_equal(value, ops.zeros_like(value))


CALLS: dict[str, Callable[[Calling, NodeDef, Sequence[Any]], Sequence[Any]]] = {
    "If": _if,
    "StatelessIf": _if,
    "While": _while,
    "StatelessWhile": _while,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
}
