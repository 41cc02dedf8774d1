"""Invariants of every valid Function, checked between passes in tests."""

from __future__ import annotations

from staticgraph.compiler.graph.checks.result_types import result_types
from staticgraph.compiler.graph.function import Function, Node, Value


class InvalidFunction(AssertionError):
    """A pass left a Function that breaks a rule: an error in the compiler, not in the user's program."""


def verify(function: Function) -> None:
    """Raise InvalidFunction unless all values are defined before use, static, and typed as their op says."""
    defined: set[Value] = set()
    params = set(function.params)
    for node in function.nodes:
        for value in node.inputs:
            _check(value in defined, node, f"uses {value} before it is defined")
            _check(
                value is value.node.outputs[value.index],
                node,
                f"uses {value}, which is no output of its node",
            )
        if node.op.name == "parameter":
            _check(node.outputs[0] in params, node, "is a parameter that the Function does not list")
        else:
            _check_types(node)
        _check(all(v.type.is_static for v in node.outputs), node, "has a result of unknown shape")
        defined.update(node.outputs)
    graphs = {id(v.recorder) for v in (*function.params, *defined)}
    if len(graphs) > 1:
        raise InvalidFunction("values of two builders are mixed")


def _check_types(node: Node) -> None:
    types = result_types(node.op, [v.type for v in node.inputs], node.attrs)
    found = tuple(v.type for v in node.outputs)
    _check(types == found, node, f"has results of types {found}, and its op gives {types}")


def _check(condition: bool, node: Node, what: str) -> None:
    if not condition:
        raise InvalidFunction(f"{node} {what}")
