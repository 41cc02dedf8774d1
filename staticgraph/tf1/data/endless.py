"""Datasets without an end, as far as that can be told before anybody goes through one."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.data.mapping import TakenWhile
from staticgraph.tf1.data.pipeline import Node
from staticgraph.tf1.data.selecting import Concatenated, Repeat, Take, Zipped
from staticgraph.tf1.data.sources import Counter, Numbers


def is_endless(node: Node) -> bool:
    """Return if a pipeline certainly gives elements for ever.

    >>> import staticgraph as sg
    >>> endless = sg.data.Dataset.range(3).repeat().batch(2)
    >>> is_endless(endless.node), is_endless(endless.take(5).node)
    (True, False)
    """
    match node:
        case Counter() | Numbers():
            return True
        case TakenWhile():
            return False
        case Take() if not _is_negative(node.count):
            return False
        case Repeat() if _is_negative(node.count):
            return True
        case Concatenated():
            return any(map(is_endless, node.sources))
        case Zipped():
            return all(map(is_endless, node.sources))
    source = getattr(node, "source", None)
    return isinstance(source, Node) and is_endless(source)


def _is_negative(count: Any) -> bool:
    known = static_value(count) if isinstance(count, Tensor) else count
    return known is not None and int(known) < 0
