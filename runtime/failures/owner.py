"""The user's operation behind a node of a step, for error messages."""

from __future__ import annotations

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.tensor import Operation, originals


def operation_at(graph: Graph, where: Provenance | None, name: str) -> Operation | None:
    """Return the operation that a node was made for, if that is clear.

    Args:
        graph: The user's graph.
        where: The line of the node.
        name: The name of the op. If not one operation of the line has it, the only one of the line counts.
    """
    backward = originals(graph)
    operations = graph.get_operations() if where is not None else ()
    made = [op for op in operations if op.where == where and op not in backward]
    same = [op for op in made if op.definition.name == name]
    return next((few[0] for few in (same, made) if len(few) == 1), None)
