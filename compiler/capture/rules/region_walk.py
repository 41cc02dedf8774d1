"""Walk through a region: its operations on values that stand for its params, and the state that they change.

The operations of a region are performed like all others. `loops.py` and `branches.py` then make a Function of
their values. It also takes and returns what the operations change: the variables that they assign to, the
states of random ops, the order of effects, and if all that ops require has held so far.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.capture.prune import only_entered
from staticgraph.compiler.capture.rules.states import counter
from staticgraph.compiler.capture.step import Needs, Stop
from staticgraph.compiler.capture.walk import Walk
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, around, is_branch
from staticgraph.compiler.ops.structural import changed_variables, variable_of


def perform_region(
    walk: Walk, region: Region, params: Sequence[Value], inner: Sequence[Tensor], results: bool = True
) -> list[Value] | Stop:
    """Perform a region.

    Args:
        walk: The walk around it.
        region: The region.
        params: The values of its params.
        inner: Tensors inside it, at any depth, to compute too.
        results: If its results are wanted.

    Returns:
        The results of the region, none if they are not wanted; or what is lacking.
    """
    wanted = walk.wanted
    walk.values.update(zip(region.params, params, strict=True))
    mine = [(t, op) for t in inner if (op := around(t, region)) is not None]
    roots = tuple(op for _, op in mine)
    for tensor, op in mine:
        if op is not tensor.op:
            wanted.inner.setdefault(op, []).append(tensor)
    operations = region.operations(roots, results)
    used = [t.op for t in region.results] if results else ()
    wanted.entered.update(only_entered(filter(is_branch, roots), operations, used))
    stop = walk.perform(operations)
    for op in roots:
        wanted.inner.pop(op, None)
    fetched = region.results if results else ()
    stop = stop or walk.lacking((*fetched, *(t for t, _ in mine)))
    return [walk.value(t) for t in fetched] if stop is None else stop


class RegionState:
    """State that the operations of a few regions change: its present values, and the place for new ones."""

    def __init__(self, walk: Walk, inside: Sequence[Operation]) -> None:
        self._walk = walk
        changed = [t for op in inside for t in changed_variables(op)]
        owners = [variable_of(t, through_writes=True) for t in changed]
        self._variables = list(dict.fromkeys(owner for owner in owners if owner is not None))
        self._draws = [op for op in inside if op.definition.effect is Effect.RANDOM]
        self._ordered = any(op.definition.effect is Effect.EFFECT for op in inside)
        self.checked = walk.request.checks and any(op.definition.requires is not None for op in inside)

    def begin(self) -> Needs | None:
        """Let the step itself count what random ops draw from now on. Returns what `get` lacks."""
        walk = self._walk
        walk.state.draws |= {op: counter(walk, op) for op in self._draws}
        needs = map(walk.lacking_type, self._variables)
        return next((each for each in needs if each is not None), None)

    def get(self) -> list[Value]:
        """Return the present values."""
        walk = self._walk
        values = [walk.variable(owner) for owner in self._variables]
        values += [counter(walk, op) for op in self._draws]
        values += [walk.state.order] if self._ordered else []
        return [*values, walk.state.sound] if self.checked else values

    def set(self, values: Sequence[Value]) -> None:
        """Make these the present values."""
        state, rest = self._walk.state, list(values)
        for owner in self._variables:
            state.variables[owner] = rest.pop(0)
        for op in self._draws:
            state.draws[op] = rest.pop(0)
        if self._ordered:
            state.order = rest.pop(0)
        if self.checked:
            state.sound = rest.pop(0)
