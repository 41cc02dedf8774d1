"""Repeats a segmented run as it went before, with the same stages and host ops, without planning it.

    stage: mask = x > mean, padded positions   ->   where, cut to the count   ->   stage: loss, new values

To find out which stage comes next takes longer than most stages do. If nothing but the variables changes in a
run, the order is always the same. So it is recorded, and repeated with machine code for each stage that is
bound to its arguments. If a stage turns out to need something first that the record does not have, the run is
planned anew: it has changed no variable, and what host ops with effects have returned is taken over.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from staticgraph.compiler.capture.segments import Segments
from staticgraph.compiler.capture.step import NeedsSegments, Step
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Tensor, regions_of, with_inner
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.host_ops.host_program import HostCall, Slots
from staticgraph.runtime.host_ops.host_run_state import Call, Event, StageRun
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.resources import calling
from staticgraph.runtime.state.variables import PendingWrites, VariableStore

Values = list[Any]  # arrays by slot

_REPEATABLE = frozenset({
    Effect.PURE, Effect.RANDOM, Effect.SOURCE, Effect.READ, Effect.WRITE, Effect.CONTROL, Effect.MARK,
})  # fmt: skip


def repeatable(stages: Segments, feeds: Sequence[Tensor]) -> bool:
    """Return True if a run with these stages goes the same way each time."""
    hosts = (*stages.leading, *stages.trailing)
    crossing = [*feeds, *(t for op in hosts for t in (*op.all_inputs, *op.outputs))]
    return (
        not stages.cuts
        and all(op.definition.effect in (Effect.PURE, Effect.HOST) and not regions_of(op) for op in hosts)
        and all(each.definition.effect in _REPEATABLE for each in with_inner(stages.native))
        and not any(t.dtype is string and variable_of(t) is not None for t in crossing)
    )


def recordable(events: Sequence[Event]) -> bool:
    """Return True if no host op with effects, which lets other runs take place, comes after a change."""
    changed = False
    for event in events:
        match event:
            case StageRun(_, program):
                changed = changed or not _changes_nothing(program.prepared.step)
            case Call(op):
                if changed and op.definition.effect is Effect.HOST:
                    return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Unfinished:
    """Outcome of a run that could not go on as recorded. `made`: what host ops with effects have returned."""

    made: Mapping[Operation, tuple[np.ndarray, ...]]


class RecordedRun:
    """The events of a run of `fetches`, ready to be done again.

    Args:
        events: What was done, in order.
        fetches: What the run returns.
        own: Those of the fetched tensors whose arrays nothing else has.
        feeds: The fed tensors, in the order of the arrays.
        store: The variables.
    """

    def __init__(
        self,
        events: Sequence[Event],
        fetches: Fetches,
        own: frozenset[Tensor],
        feeds: Sequence[Tensor],
        store: VariableStore,
    ) -> None:
        slots = Slots(feeds)
        parts = (_part(event, slots, store, last=event is events[-1]) for event in events)
        self._parts = [part for part in parts if part is not None]
        self._fetches, self._store = fetches, store
        computed = {t for event in events if isinstance(event, StageRun) for t in event.tensors}
        self._fetched = [(slots.of(t), t in own or t in computed) for t in fetches.tensors]
        self._later = slots.later

    def __call__(self, arrays: Sequence[np.ndarray]) -> Any:
        """Return the fetched structure for these values of the feeds, and change the variables.

        `Unfinished` if the run cannot go as recorded; then no variable has changed.
        """
        values, pending = [*arrays, *self._later], list[PendingWrites]()
        for number, part in enumerate(self._parts):
            if not part.perform(values, pending):
                before = (each for each in self._parts[:number] if isinstance(each, _Acting))
                return Unfinished({each.op: each.made(values) for each in before})
        if pending:
            first, *others = pending
            for more in others:
                first.add(more)
            first.commit(self._store)
        return self._fetches.assemble([
            values[slot][()] if own else values[slot].copy()[()] for slot, own in self._fetched
        ])  # fmt: skip


class _Stage:
    """A compiled stage."""

    def __init__(self, event: StageRun, slots: Slots, last: bool) -> None:
        self._programs, self._last = event.programs, last
        self._feeds = [slots.of(t) for t in event.programs.feeds]
        program = event.program
        # A value that a host op takes counts for that op, and for later stages if it is always the same.
        keys: list[tuple[Hashable, ...]] = [(t,) for t in event.tensors]
        for op, what in program.prepared.step.captured:
            known = isinstance(what, Tensor) and variable_of(what) is None
            keys.append(((op, what), what) if known else ((op, what),))
        self._made = [tuple(map(slots.new, each)) for each in keys]
        order = tuple(range(len(self._feeds)))
        whole = _AllResults(event.programs, program)
        self._path = event.programs.compiler.backend.fast_path(whole, order, event.programs.store)

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Run the stage. Return False if it needs something first that is not recorded."""
        given = [values[slot] for slot in self._feeds]
        made = NotImplemented if pending else self._path(*given)
        if made is NotImplemented:
            program = self._programs.ready(given)
            if isinstance(program, NeedsSegments):
                return False
            made, changes = self._programs.call(program, given)
            if changes:
                pending.append(changes)
            if self._last or _changes_nothing(program.prepared.step):
                self._path.add(program)
        for slots, array in zip(self._made, map(np.asarray, made), strict=True):
            for slot in slots:
                values[slot] = array
        return True


class _Cut:
    """A host op whose padded results a stage has computed."""

    def __init__(self, op: Operation, count: int, slots: Slots) -> None:
        assert op.definition.cut is not None, op
        self._cut = op.definition.cut
        self._taken = [slots.of((op, number)) for number in range(count)]
        self._made = [*map(slots.new, op.outputs)]
        names = [p.name for p in op.definition.params]
        self._attrs = {name: op.attrs[name] for name in names if name in op.attrs}

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Take as much of the results as there is. Return False if that fails: the planned run says why."""
        try:
            made = self._cut(*[values[slot] for slot in self._taken], **self._attrs)
        except Exception:
            return False
        for slot, array in zip(self._made, made if isinstance(made, tuple) else (made,), strict=True):
            values[slot] = array
        return True


class _Host:
    """A host op that NumPy computes."""

    def __init__(self, op: Operation, slots: Slots) -> None:
        self.op = op
        self._call = HostCall(op, slots)

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Compute the op."""
        self._call(values)
        return True

    def made(self, values: Values) -> tuple[np.ndarray, ...]:
        """The results of the op."""
        return tuple([values[slot] for slot in self._call.made])


class _Acting(_Host):
    """A host op with effects: it may wait for runs of other threads, so that it lets them take place."""

    def __init__(self, op: Operation, slots: Slots, store: VariableStore) -> None:
        super().__init__(op, slots)
        self._store = store

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Call the op."""
        with self._store.released(), calling(self._store.resources, nullcontext):
            return super().perform(values, pending)


def _part(event: Event, slots: Slots, store: VariableStore, last: bool) -> _Stage | _Cut | _Host | None:
    """The part of a run that repeats an event; None if there is nothing to do."""
    match event:
        case StageRun():
            return _Stage(event, slots, last)
        case Call(op) if op.definition.name == "constant":  # that host ops take, such as strings
            slots.of(op.outputs[0])
            return None
        case Call(op, 0):
            return _Acting(op, slots, store) if op.definition.effect is Effect.HOST else _Host(op, slots)
        case Call(op, padded):
            return _Cut(op, padded, slots)


def _changes_nothing(step: Step) -> bool:
    return not (step.writes or step.counters or step.draws)


@dataclass(frozen=True, slots=True)
class _Tuple:
    """The results of a step as a tuple: what `Fetches` is to a run."""

    tensors: Sequence[Any]  # types, each with its dtype

    @property
    def form(self) -> tuple[type, list[int]]:
        return tuple, [*range(len(self.tensors))]

    assemble = staticmethod(tuple)


class _AllResults:
    """Implements `Programs` for fast paths that also return what host ops take."""

    def __init__(self, programs: ProgramCache, program: Executable) -> None:
        self._programs = programs
        self._count = program.prepared.step.fetches
        self.feeds = programs.feeds
        self.fetches: Any = _Tuple(program.prepared.program.results[: self._count])

    @property
    def static(self) -> tuple[int, ...]:
        return self._programs.static

    @property
    def recyclers(self) -> Sequence[Any]:
        return self._programs.pools(self._count)

    @property
    def known(self) -> Sequence[Executable]:
        return self._programs.known
