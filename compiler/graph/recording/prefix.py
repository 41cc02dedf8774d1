"""A scope for functions made of several ops: in the user's graph, their operations get a common prefix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import recorder_of, recording


@contextmanager
def scope(name: str, *values: Any) -> Iterator[str | None]:
    """Context in which ops on `values` are named below `name`; yields the name for the one with the result.

    >>> with scope("mean_of_two") as name:
    ...     y = sg.multiply(sg.constant(2.0) + 3.0, 0.5, name=name)
    >>> y.name, y.op.inputs[0].name
    ('mean_of_two:0', 'mean_of_two/add:0')
    """
    recorder = recorder_of(values)
    if not isinstance(recorder, Graph):  # inside the compiler, values have no names
        yield None
        return
    with recording(recorder), recorder.name_scope(name) as prefix:
        yield prefix
