"""The operation that a SavedModel runs when it is loaded."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import GraphKeys, control_dependencies, get_collection, get_default_graph
from staticgraph.building.inputs import group
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.state.variable_lists import global_variables_initializer, local_variables_initializer

__all__ = ["main_op", "main_op_with_restore"]


def main_op() -> Operation:
    """One that initialises all variables and tables."""
    tables = group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name="init_all_tables")
    return group(global_variables_initializer(), local_variables_initializer(), tables)


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """`main_op`, and after it the operation of this name."""
    with control_dependencies([main_op()]):
        return group(get_default_graph().as_graph_element(restore_op_name))
