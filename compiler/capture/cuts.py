"""Cuts of a run: loops and branches done in Python that share variables with the compiled stages around them.

The regions of such an operation are runs of their own, on the variables as the session has them. So what was
made before it in the graph must be over when it begins: its assignments, and its reads, of which later
operations may need the values. In

    old = w.read_value();  loop = while_loop(...)  # calls Python and assigns to w;  change = w - old

the loop is a cut, and `old` crosses it: a stage before the loop computes `old`, later stages are given it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from staticgraph.compiler.capture.regions import outermost, regions_of, with_inner
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.ops.structural import variable_of

_STATELESS = (Effect.PURE, Effect.SOURCE, Effect.CONTROL, Effect.MARK)


def written(op: Operation) -> set[Operation]:
    """Return the variables that an operation, or something in its regions, assigns to."""
    writes = [each for each in with_inner([op]) if each.definition.effect is Effect.WRITE]
    found = {variable_of(each.tensors[0], through_writes=True) for each in writes}
    return {owner for owner in found if owner is not None}


def taken(op: Operation) -> set[Operation]:
    """Return the variables that an operation takes as operands, to read or to change them."""
    found = {variable_of(t, through_writes=op.definition.effect is Effect.WRITE) for t in op.all_inputs}
    return {owner for owner in found if owner is not None}


def is_cut(op: Operation, needed: Iterable[Operation]) -> bool:
    """Return True if a host op of the run of the operations `needed` is a cut."""
    if not regions_of(op):
        return False
    shared = taken(op)
    return bool(written(op)) or any(each.id < op.id and shared & written(each) for each in needed)


def crossing(
    cut: Operation, needed: Sequence[Operation], fetches: Iterable[Tensor], region: Region | None
) -> list[Tensor]:
    """Return the tensors computed before a cut, from state, that something after it takes.

    Args:
        cut: the operation at which the run is cut.
        needed: the operations of the run that are not done in Python, in order of construction.
        fetches: what the run fetches.
        region: the region that the run is about.
    """
    before = [op for op in needed if op.id < cut.id]
    from_state: set[Operation] = set()
    for op in before:
        stateful = any(each.definition.effect not in _STATELESS for each in with_inner([op]))
        if stateful or taken(op) or any(t.op in from_state for t in op.all_inputs):
            from_state.add(op)
    used = [t for op in (*needed, cut) if op.id >= cut.id for t in op.all_inputs]
    used += fetches
    found = (t for t in used if outermost(t, region) in from_state and variable_of(t) is None)
    return list(dict.fromkeys(found))


def string_variables(op: Operation) -> Collection[Operation]:
    """Return the variables of strings that an operation takes."""
    return [owner for owner in taken(op) if owner.outputs[0].dtype.name == "string"]
