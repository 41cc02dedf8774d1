"""`tf.contrib.util`: questions about a GraphDef."""

from __future__ import annotations

from typing import Any


def ops_used_by_graph_def(graph_def: Any) -> set[str]:
    """The types of the operations that a graph needs, those in the functions that it calls included.

    Args:
        graph_def: A GraphDef.

    Returns:
        The types, without the names of functions.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32) + 1.0
    >>> sorted(ops_used_by_graph_def(sg.get_default_graph().as_graph_def()))
    ['Add...', 'Const', 'Placeholder']
    """
    functions = {each.signature.name: each for each in graph_def.library.function}
    used: set[str] = set()
    open_nodes = list(graph_def.node)
    while open_nodes:
        kind = open_nodes.pop().op
        if kind not in used:
            used.add(kind)
            open_nodes += functions[kind].node_def if kind in functions else ()
    return used - functions.keys()
