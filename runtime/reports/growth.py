"""The growth guard: says which line of a program adds operations to the graph between runs, again and again.

A graph that is built once and run often is what a session is for. A line inside of the loop over steps that
makes operations, such as `sess.run(v.assign(x))`, makes new ones in every round: memory grows, and each run
compiles. What is built later but once, such as the graph of an evaluation, is no such line.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

from staticgraph.compiler.graph.errors import GraphGrowthWarning
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.forks import brief

MANY = 100  # pairs of runs between which one line has added operations
_LINES = 10_000  # that are counted; code that is made anew all the time has no end of lines


@dataclass(slots=True)
class _Line:
    """Operations that one line of a program has added between runs."""

    where: Provenance  # kept, so that its code object is not made anew at the same address
    between: int = 0  # of how many pairs of runs
    operations: int = 0
    last: int = 0  # the latest pair


class Growth:
    """Looks at what was added to `graph`, when a session finds before a run that it has another size.

    Args:
        graph: The graph.
        size: The number of its operations at the last run.
    """

    __slots__ = ("_graph", "_size", "_lines", "_pairs", "_warned", "_lock")

    def __init__(self, graph: Graph, size: int) -> None:
        self._graph = graph
        self._size = size
        self._lines: dict[Any, _Line] = {}
        self._pairs = 0
        self._warned: set[tuple[str, int]] = set()
        self._lock = brief(threading.RLock())

    def look(self) -> int:
        """Count what is new, and warn of a line that has added operations between many runs. The number of
        operations.
        """
        with self._lock:
            before, self._size = self._size, self._graph.version
            self._pairs += 1
            found = [self._count(op.where) for op in self._graph.recorded[before:] if op.where]
        for line in dict.fromkeys(where for where in found if where is not None):
            self._warn(line)
        return self._size

    def _count(self, where: Provenance) -> Provenance | None:
        """Count one operation; its line, where that makes it one to warn of."""
        key = (id(where.code), where.instruction, where.line_number)
        line = self._lines.get(key)
        if line is None:
            if len(self._lines) >= _LINES:
                self._lines.clear()
            line = self._lines[key] = _Line(where)
        line.operations += 1
        if line.last == self._pairs:
            return None
        line.last = self._pairs
        line.between += 1
        return line.where if line.between == MANY else None

    def _warn(self, where: Provenance) -> None:
        place = where.file, where.line
        if place in self._warned:
            return
        self._warned.add(place)
        on_it = [line for line in self._lines.values() if (line.where.file, line.where.line) == place]
        count = sum(line.operations for line in on_it)
        text = (
            f"this line has added {count} operations to the graph, between {MANY} pairs of runs: it has "
            f"{self._size} now\n  memory grows, and what is new is compiled again and again\n"
            "  hint: build them once, before the loop, and feed what changes through a placeholder;\n"
            "  to set a variable, use variable.load(value, session)"
        )
        warnings.warn_explicit(text, GraphGrowthWarning, where.file, where.line)
