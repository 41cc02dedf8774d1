"""Losses and updates of a layer by the inputs that they depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building import nest
from staticgraph.compiler.graph.tensor import Operation, ancestors


def placeholders(operations: Any, cut: Any = ()) -> set[Operation]:
    """Return the placeholders that operations need."""
    return {op for op in ancestors(operations, cut) if op.definition.name == "placeholder"}


def dependents(items: list[Any], inputs: Any, operation: Callable[[Any], Operation]) -> list[Any]:
    """Return the items that depend on what is fed to `inputs` alone.

    Args:
        items: Losses or updates.
        inputs: Tensors in any structure; None asks for the items that depend on no input.
        operation: A function that gives the operation of an item.
    """
    given = {t for t in nest.flatten(inputs) if t is not None}
    fed = {t.op for t in given}
    found = []
    for item in items:
        root = operation(item)
        behind = set() if root in fed else placeholders([root], given)
        needed = behind | (fed & ancestors([root]))
        if bool(needed) == bool(given) and needed <= fed:
            found.append(item)
    return found
