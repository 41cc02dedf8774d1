"""Originals of backward operations: the operations that `gradients` made them for.

Both come from one line of the user's program, so an error at the line asks here which of them is meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.tensor import Operation


class _Originals(dict[Operation, Operation]):
    """The original of each backward operation of a graph."""


def originals(graph: Any) -> Mapping[Operation, Operation]:
    """Return the original of each backward operation of a graph, for as long as the program runs."""
    found: Mapping[Operation, Operation] = graph.attached.get(_Originals, {})
    return found


def note(backward: Sequence[Operation], original: Operation) -> None:
    """Note what operations were made for."""
    original.graph.attached.setdefault(_Originals, _Originals()).update(dict.fromkeys(backward, original))
