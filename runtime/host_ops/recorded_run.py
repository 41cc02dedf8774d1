"""Repeats a segmented run as it went before, with the same stages and host ops, without planning it.

    stage: mask = x > mean, padded positions   ->   where, cut to the count   ->   stage: loss, new values

To find out which stage comes next takes longer than most stages do. If nothing but the variables changes in a
run, the order is always the same, and a run that ends halfway has changed nothing. So it is recorded, and
repeated with machine code for each stage that is bound to its arguments. If a stage turns out to need
something first that the record does not have, the run is planned anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.segments import Segments
from staticgraph.compiler.capture.step import NeedsSegments, Step
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.interpret import perform
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Tensor, regions_of, with_inner
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.host_ops.host_run_state import Call, Event, StageRun
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.variables import PendingWrites, VariableStore

Values = dict[Any, np.ndarray]  # by tensor, and by host op with an input or the number of a padded result

_REPEATABLE = frozenset({
    Effect.PURE, Effect.RANDOM, Effect.SOURCE, Effect.READ, Effect.WRITE, Effect.CONTROL, Effect.MARK,
})  # fmt: skip


def repeatable(stages: Segments, feeds: Sequence[Tensor]) -> bool:
    """Return True if a run with these stages goes the same way each time, and can be begun twice."""
    hosts = (*stages.leading, *stages.trailing)
    crossing = [*feeds, *(t for op in hosts for t in (*op.all_inputs, *op.outputs))]
    return (
        not stages.cuts
        and all(op.definition.effect is Effect.PURE and not regions_of(op) for op in hosts)
        and all(each.definition.effect in _REPEATABLE for each in with_inner(stages.native))
        and not any(t.dtype is string and variable_of(t) is not None for t in crossing)
    )


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
        self._parts = [_part(event, last=event is events[-1]) for event in events]
        self._fetches, self._feeds, self._store = fetches, feeds, store
        computed = {t for event in events if isinstance(event, StageRun) for t in event.tensors}
        self._fetched = [(t, t in own or t in computed) for t in fetches.tensors]

    def __call__(self, arrays: Sequence[np.ndarray]) -> Any:
        """Return the fetched structure for these values of the feeds, and change the variables.

        NotImplemented if the run cannot go as recorded; then nothing has changed.
        """
        values: Values = dict(zip(self._feeds, arrays, strict=True))
        pending: list[PendingWrites] = []
        for part in self._parts:
            if not part.perform(values, pending):
                return NotImplemented
        if pending:
            first, *others = pending
            for more in others:
                first.add(more)
            first.commit(self._store)
        return self._fetches.assemble([
            values[t][()] if own else values[t].copy()[()] for t, own in self._fetched
        ])  # fmt: skip


class _Stage:
    """A compiled stage."""

    def __init__(self, event: StageRun, last: bool) -> None:
        self._programs, self._last = event.programs, last
        self._feeds = event.programs.feeds
        program = event.program
        # A value that a host op takes counts for that op, and for later stages if it is always the same.
        captured = program.prepared.step.captured
        self._keys: list[Any] = [*event.tensors, *captured]
        self._also = [
            (number, what)
            for number, (_, what) in enumerate(captured, len(event.tensors))
            if isinstance(what, Tensor) and variable_of(what) is None
        ]
        order = tuple(range(len(self._feeds)))
        whole = _AllResults(event.programs, program)
        self._path = event.programs.compiler.backend.fast_path(whole, order, event.programs.store)

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Run the stage. Return False if it needs something first that is not recorded."""
        given = [values[t] for t in self._feeds]
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
        arrays = [*map(np.asarray, made)]
        values.update(zip(self._keys, arrays, strict=True))
        for number, tensor in self._also:
            values[tensor] = arrays[number]
        return True


class _Cut:
    """A host op whose padded results a stage has computed."""

    def __init__(self, op: Operation, count: int) -> None:
        assert op.definition.cut is not None, op
        self._cut, self._outputs = op.definition.cut, op.outputs
        self._keys = [(op, number) for number in range(count)]
        names = [p.name for p in op.definition.params]
        self._attrs = {name: op.attrs[name] for name in names if name in op.attrs}

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Take as much of the results as there is. Return False if that fails: the planned run says why."""
        try:
            made = self._cut(*[values[key] for key in self._keys], **self._attrs)
        except Exception:
            return False
        if isinstance(made, tuple):
            values.update(zip(self._outputs, made, strict=True))
        else:
            values[self._outputs[0]] = made
        return True


class _Host:
    """A host op that NumPy computes."""

    def __init__(self, op: Operation) -> None:
        self._op = op
        constants = [t for t in op.all_inputs if t.op.definition.name == "constant"]
        self._constants = {t: t.op.attrs["value"].array for t in constants}

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Compute the op."""
        op, constants = self._op, self._constants

        def value(tensor: Tensor) -> np.ndarray:
            if (op, tensor) in values:
                return values[op, tensor]
            return constants[tensor] if tensor in constants else values[tensor]

        values.update(zip(op.outputs, perform(op, value), strict=True))
        return True


class _Constant:
    """A constant that host ops take, such as strings."""

    def __init__(self, op: Operation) -> None:
        self._made = {op.outputs[0]: op.attrs["value"].array}

    def perform(self, values: Values, pending: list[PendingWrites]) -> bool:
        """Know it."""
        values.update(self._made)
        return True


def _part(event: Event, last: bool) -> _Stage | _Cut | _Constant | _Host:
    match event:
        case StageRun():
            return _Stage(event, last)
        case Call(op) if op.definition.name == "constant":
            return _Constant(op)
        case Call(op, 0):
            return _Host(op)
        case Call(op, padded):
            return _Cut(op, padded)


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
