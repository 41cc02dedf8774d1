"""One run in progress: what is known of its tensors so far, and what it is going to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from staticgraph.compiler.capture.segments import Segments, crosses, inputs_read, is_padded, is_replayed
from staticgraph.compiler.capture.step import Step, uninitialized
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import FeedError, InvalidArgumentError, UnimplementedError, layout
from staticgraph.compiler.graph.interpret import outputs_of, perform
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import compatible, shape_text
from staticgraph.compiler.graph.tensor import Operation, Tensor, with_inner
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.host_ops.regions import Regions
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.resources import calling
from staticgraph.runtime.state.variables import PendingWrites, VariableStore
from staticgraph.runtime.step_compiler import HostObserver


@dataclass(frozen=True, slots=True, eq=False)
class StageRun:
    """Event of a run: a compiled stage was run.

    Attributes:
        programs: The programs of the stage.
        program: The one that was run.
        tensors: What it computed beside the inputs of host ops.
    """

    programs: ProgramCache
    program: Executable
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Event of a run: a host op was called. `padded`: the number of its padded results, 0 if it has none."""

    operation: Operation
    padded: int


Event = StageRun | Call
NOTHING: Mapping[Operation, tuple[np.ndarray, ...]] = MappingProxyType({})


class HostRunState:
    """Calls host ops, each once, on values that were fed, computed by a stage, or returned by a host op."""

    def __init__(
        self,
        feeds: Mapping[Tensor, Any],
        store: VariableStore,
        stages: Segments,
        regions: Regions,
        observers: Sequence[HostObserver] = (),
        pads: bool = False,
        made: Mapping[Operation, tuple[np.ndarray, ...]] = NOTHING,
    ) -> None:
        self.values: dict[Tensor, Any] = dict(feeds)  # arrays
        self._known = made  # results of host ops with effects that were called before the run was planned
        self.called: set[Operation] = set()
        self.done: set[Operation] = set()  # what compiled stages did before a cut, and is committed
        self.settled: set[Tensor] = set()  # what they computed
        self.changes = PendingWrites()
        self.store = store
        self._stages = stages
        self._regions = regions
        self._observers = observers
        self._pads = pads  # if stages compute padded results
        self.own: set[Tensor] = set()  # results that are whole arrays of a stage
        self.events: list[Event] = []
        self._captured: dict[tuple[Operation, Tensor | int], np.ndarray] = {}
        self._drawn: dict[Operation, np.ndarray] = {}  # states of random ops before replayed loops

    def take(
        self, step: Step, tensors: Sequence[Tensor], fetched: Sequence[Any], changes: PendingWrites
    ) -> None:
        """Keep what a stage computed: the fetched `tensors`, then inputs or padded results of host ops."""
        count = len(tensors)
        self._learn(tensors, fetched[:count])
        inputs = fetched[count:]
        self._captured.update(zip(step.captured, inputs, strict=True))
        pairs = zip(step.captured, inputs, strict=True)
        known = {t: array for (_, t), array in pairs if isinstance(t, Tensor)}
        self._learn(known, known.values())
        self.changes.add(changes)

    def _learn(self, tensors: Iterable[Tensor], arrays: Iterable[Any]) -> None:
        """Values to give to later stages. That of a variable is another one for each op that takes it."""
        found = zip(tensors, arrays, strict=True)
        self.values.update((t, array) for t, array in found if variable_of(t) is None)

    def settle(self, done: Iterable[Operation], tensors: Iterable[Tensor]) -> None:
        """Commit what was done so far: later stages do not do it again."""
        self.changes.commit(self.store)
        self.changes = PendingWrites()
        self.done.update(done)
        self.settled.update(tensors)

    def lacks(self, op: Operation) -> bool:
        """Return True if a compiled stage must still compute inputs of a host op, or its padded results."""
        if self._pads and is_padded(op):
            return (op, 0) not in self._captured
        return any(
            crosses(t) and t not in self.values and (op, t) not in self._captured for t in inputs_read(op)
        )

    def call(self, op: Operation) -> None:
        """Call a host op."""
        self.called.add(op)
        # What waits for other threads must let them run; what is computed already must not be overtaken.
        free = op.definition.effect is Effect.HOST and not self.changes.values
        pause = nullcontext if free else self._paused
        made: tuple[np.ndarray, ...] | None = None
        try:
            with self.store.released() if free else nullcontext(), calling(self.store.resources, pause):
                made = self._made(op)
        finally:
            for observe in self._observers:
                observe(op, partial(self._value, op), made)
        self._learn(op.outputs, made)
        self.events.append(Call(op, len(self._padded(op))))

    def rewind(self, step: Step) -> None:
        """Let a stage draw the numbers that Python has drawn in a loop which the stage replays.

        The stage moves the states of these random ops on to where they are.
        """
        for op in self._drawn.keys() & set(step.counters):
            self.store.random_state(op)[...] = self._drawn[op]

    def _paused(self) -> AbstractContextManager[None]:
        """Context in which other threads run, for an op that cannot go on without them.

        They see what this run has changed so far, which is then no longer undone if it fails.
        """
        self.changes.commit(self.store)
        self.changes = PendingWrites()
        return self.store.released()

    def _made(self, op: Operation) -> tuple[np.ndarray, ...]:
        match op.definition.name:
            case "variable" | "read_variable":
                return (np.empty(0, object),)  # not kept: each op that takes it looks it up
            case "placeholder":
                hint = f"add it to the feed_dict: {{{op.name.rpartition('/')[2]}: value}}"
                text = f"You must feed a value for placeholder tensor '{op.name}' ({op.outputs[0].type})"
                raise FeedError(layout(text, op.where, hint=hint), op)
            case "read_value":  # of strings
                return (self.value(op.tensors[0]),)
            case "assign":
                return (self._assigned(op),)
            case "initialized_value":
                return (self._value(op, op.tensors[0 if self._has_value(op, op.tensors[0]) else 1]),)
            case "is_variable_initialized":
                return (np.asarray(self._has_value(op, op.tensors[0])),)
            case "while_region":
                if is_replayed(op):
                    draws = [o for o in with_inner([op]) if o.definition.effect is Effect.RANDOM]
                    self._drawn |= {draw: self.store.random_state(draw).copy() for draw in draws}
                return self._regions.rounds(op, lambda t: self._value(op, t))
            case "branch_region":
                return self._regions.taken(op, lambda t: self._value(op, t))
            case "report_uninitialized":
                missing = [t.op.name for t in op.tensors if not self._has_value(op, t)]
                return (string.round(missing),)
        if op in self._known:
            return self._known[op]
        if (op, 0) in self._captured:
            return self._cut(op)
        if op.definition.reference is None:
            text = f"{op.name} ({op.type}) does not take strings"
            raise UnimplementedError(layout(text, op.where), op)
        return perform(op, lambda t: self._value(op, t))

    def _cut(self, op: Operation) -> tuple[np.ndarray, ...]:
        """The results of an op, as much of the padded ones as there is."""
        cut = op.definition.cut
        assert cut is not None, op
        padded = self._padded(op)
        made = outputs_of(op, lambda attrs: cut(*padded, **attrs))
        uncut = set(map(id, padded))
        self.own.update(t for t, array in zip(op.outputs, made, strict=True) if id(array) in uncut)
        return made

    def _padded(self, op: Operation) -> list[np.ndarray]:
        """The padded results of an op, as far as a stage has computed them."""
        padded: list[np.ndarray] = []
        while (op, len(padded)) in self._captured:
            padded.append(self._captured[op, len(padded)])
        return padded

    def result(self, tensor: Tensor) -> np.ndarray:
        """The value of a fetched tensor, in memory that nothing else has."""
        value = self.value(tensor)
        return value if tensor in self.own else value.copy()

    def _value(self, op: Operation, tensor: Tensor) -> np.ndarray:
        """The value of an input of `op`, at its turn."""
        captured = self._captured.get((op, tensor))
        return self.value(tensor) if captured is None else captured

    def value(self, tensor: Tensor) -> np.ndarray:
        """A value that was fed, computed by a stage, or returned by a host op; or strings of a variable."""
        if tensor in self.values:
            return self.values[tensor]
        if tensor.op.definition.name == "constant":
            return tensor.op.attrs["value"].array
        owner = variable_of(tensor)
        assert owner is not None, tensor
        if owner in self.changes.values:
            return self.changes.values[owner]
        if owner not in self.store:
            raise uninitialized([owner])
        return self.store.stored(owner)

    def _assigned(self, op: Operation) -> np.ndarray:
        """An assignment to a variable of strings."""
        owner, value = variable_of(op.tensors[0], through_writes=True), self._value(op, op.tensors[1])
        assert owner is not None, op
        known = owner.outputs[0].type
        if op.attrs.get("validate_shape", True) and not compatible(known.shape, value.shape):
            text = f"{op.name} assigns strings of shape {shape_text(value.shape)} to {owner.name} of {known}"
            raise InvalidArgumentError(layout(text, op.where, [("the variable", owner.where)]), op)
        self.changes.values[owner] = value.copy()
        return value

    def _has_value(self, op: Operation, tensor: Tensor) -> bool:
        """Return True if a variable has a value when `op` runs, from before the run or assigned in it."""
        owner = variable_of(tensor)
        assert owner is not None, tensor
        given = owner in self.store or (owner.outputs[0].dtype is string and owner in self.changes.values)
        return given or self._stages.assigned(owner, op)
