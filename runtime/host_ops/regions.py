"""Loops and branches with operations in them that only Python does: their regions are run like graphs.

A round of such a loop is a run of its own. What it changes in variables stays, also if the run that it is a
part of fails later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.step import Calls
from staticgraph.compiler.graph.errors import DeadlineExceededError, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.ops.control.control_flow import taken
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.state.resources import Resources, remaining

Value = Callable[[Tensor], np.ndarray]
Run = Callable[[Sequence[np.ndarray]], Any]
Inner = Callable[[Fetches, tuple[Tensor, ...], Calls], Run]


class Regions:
    """The regions of a run, each with a run of its own, which `inner` makes."""

    def __init__(self, graph: Graph, resources: Resources, inner: Inner) -> None:
        self._graph, self._resources = graph, resources
        self._inner = inner
        self._runs: dict[Region, tuple[tuple[Tensor, ...], Run]] = {}  # what each is fed, and how it runs

    def rounds(self, op: Operation, value: Value) -> tuple[np.ndarray, ...]:
        """Run the loop `op` with these values of its inputs. Return its results and, last, its trip count.

        Raises DeadlineExceededError if the time limit of the run is over, CancelledError if the session was
        closed.
        """
        cond, body = op.attrs["cond"], op.attrs["body"]
        carried = [value(t) for t in op.tensors[: len(body.params)]]
        count = 0
        while self._results(cond, carried, value)[0]:
            carried = self._results(body, carried, value)
            count += 1
            self._resources.check_open()
            if remaining() == 0:
                text = "the time that the run was given is over"
                raise DeadlineExceededError(layout(text, op.where), op)
        if not count:
            carried = [_as_written(a, t.type.shape) for a, t in zip(carried, body.results, strict=True)]
        return (*carried, np.array(count, np.int32))

    def taken(self, op: Operation, value: Value) -> tuple[np.ndarray, ...]:
        """Run the branch of `op` that its first input selects, with these values of its inputs.

        Return its results.
        """
        pred, branches = value(op.tensors[0]), op.attrs["branches"]
        number = int(not pred) if pred.dtype == bool else int(pred)
        return tuple(self._results(taken(branches, number), (), value))

    def _results(self, region: Region, params: Sequence[np.ndarray], value: Value) -> list[np.ndarray]:
        if region not in self._runs:
            captured = [t for t in region.captures()[0] if variable_of(t) is None]
            feeds = tuple(dict.fromkeys((*region.params, *captured)))
            fetches = Fetches(self._graph, list(region.results))
            self._runs[region] = feeds, self._inner(fetches, feeds, Calls(region=region))
        feeds, run = self._runs[region]
        known = dict(zip(region.params, params, strict=True))
        arrays = [np.asarray(known[t] if t in known else value(t)) for t in feeds]
        return [np.asarray(a) for a in run(arrays)]


def _as_written(array: np.ndarray, shape: Shape | None) -> np.ndarray:
    """Return an array of rows of which none was written, with the axes that a round would have given it."""
    if shape is None or array.shape[1:] != (0,) or len(shape) == 2:
        return array
    return np.zeros((len(array), *(n or 0 for n in shape[1:])), array.dtype)
