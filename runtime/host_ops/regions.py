"""Loops and branches with operations in them that only Python does: their regions are run like graphs.

A round of such a loop is a run of its own. What it changes in variables stays, also if the run that it is a
part of fails later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.calls import Calls
from staticgraph.compiler.graph.errors import DeadlineExceededError, layout
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.ops.control_flow import taken
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.runtime.cached_run import CachedRun
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.resources import remaining
from staticgraph.runtime.variables import VariableStore

Value = Callable[[Tensor], np.ndarray]
Run = Callable[[CachedRun, Sequence[np.ndarray], VariableStore], Any]


class Regions:
    """The regions of one plan, each with a plan of its own, which `run` runs."""

    def __init__(self, plan: CachedRun, run: Run) -> None:
        self._outer = plan
        self._run = run
        self._plans: dict[Region, CachedRun] = {}

    def rounds(self, op: Operation, value: Value, store: VariableStore) -> tuple[np.ndarray, ...]:
        """Run the loop `op` with these values of its inputs. Return its results and, last, its trip count.

        Raises DeadlineExceededError if the time limit of the run is over.
        """
        cond, body = op.attrs["cond"], op.attrs["body"]
        carried = [value(t) for t in op.tensors[: len(body.params)]]
        count = 0
        while self._results(cond, carried, value, store)[0]:
            carried = self._results(body, carried, value, store)
            count += 1
            if remaining() == 0:
                text = "the time that the run was given is over"
                raise DeadlineExceededError(layout(text, op.where), op)
        return (*carried, np.array(count, np.int32))

    def taken(self, op: Operation, value: Value, store: VariableStore) -> tuple[np.ndarray, ...]:
        """Run the branch of `op` that its first input selects, with these values of its inputs.

        Return its results.
        """
        pred, branches = value(op.tensors[0]), op.attrs["branches"]
        number = int(not pred) if pred.dtype == bool else int(pred)
        return tuple(self._results(taken(branches, number), (), value, store))

    def _results(
        self, region: Region, params: Sequence[np.ndarray], value: Value, store: VariableStore
    ) -> list[np.ndarray]:
        plan = self._plans.get(region)
        if plan is None:
            captured = [t for t in region.captures()[0] if variable_of(t) is None]
            feeds = tuple(dict.fromkeys((*region.params, *captured)))
            fetches = Fetches(self._outer.graph, list(region.results))
            plan = CachedRun(self._outer.graph, fetches, feeds, self._outer.compile_log, Calls(region=region))
            self._plans[region] = plan
        known = dict(zip(region.params, params, strict=True))
        arrays = [np.asarray(known[t] if t in known else value(t)) for t in plan.feeds]
        return [np.asarray(a) for a in self._run(plan, arrays, store)]
