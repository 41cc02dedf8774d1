"""A compiled step on a GPU. Its first run asks for kernel after kernel; the second captures a graph, with
the copies of feeds and fetches in it, and from then on a run is one launch.

Feeds and the states of random ops go to the GPU in one packet, but for large ones, and fetches come back in
one. Variables stay on the GPU. A new value that cannot overwrite the old one in place is made beside it, and
moved there when nothing can fail any more. Runs that fetch nothing are not waited for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn
from weakref import finalize

import numpy as np

from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.buffer_assignment import bytes_of
from staticgraph.compiler.lower.program import ARENA, ARGUMENTS, CONSTANTS, HostCall
from staticgraph.runtime.executable import Checks, Origins
from staticgraph.runtime.gpu import staging
from staticgraph.runtime.gpu.cuda.driver import Driver
from staticgraph.runtime.gpu.cuda.failure import with_line, with_plan
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.exchange import connect_cards
from staticgraph.runtime.gpu.feed_checks import FeedChecks
from staticgraph.runtime.gpu.graphs.control_flow import Unsound, decides
from staticgraph.runtime.gpu.graphs.kept import NOTHING, KeptResults
from staticgraph.runtime.gpu.graphs.order import Span
from staticgraph.runtime.gpu.graphs.recorder import Action, GraphRecorder, prepare
from staticgraph.runtime.gpu.staging import CardConstants, Packet, Slot
from staticgraph.runtime.gpu.store import DeviceStore, untouched_if_it_fails
from staticgraph.runtime.gpu.timing import FEEDS, FETCHES, UNTIMED, Untimed
from staticgraph.runtime.state.memory import LARGE, BufferPool
from staticgraph.runtime.state.variables import PendingWrites, VariableStore

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step
    from staticgraph.runtime.processes.collective_calls import CollectiveCalls

_SHORT = (
    "the GPU has no memory left for what {0} needs: functions of our own do the {1} of this step, which may "
    "take longer; a smaller batch needs less memory"
)
SLOTS = 2  # the host fills one while the GPU reads the other


class GpuExecutable:
    """Implements `Executable`: the functions of a step, loaded on a GPU, and what was captured of it."""

    version = -1

    def __init__(
        self,
        prepared: GpuCompiled,
        device: Device,
        static: Iterable[tuple[int, bytes]] = (),
        checks: Checks | None = None,
        overlap: bool = True,
        feed_checks: FeedChecks | None = None,
        again: Callable[[], GpuCompiled] | None = None,
        constants: CardConstants | None = None,
        runs: Callable[[GpuExecutable], None] = lambda executable: None,
        may_merge: Callable[[GpuExecutable], bool] = lambda executable: True,
        less: Callable[[bool], GpuCompiled] | None = None,
    ) -> None:
        self.prepared = prepared  # what a run needs of the compiled step
        self._again, self._less = again, less
        self._overlap, self._may_merge = overlap, may_merge
        self.checks = checks
        self._feed_checks = feed_checks
        self.static = dict(static)
        self.needed = tuple(prepared.step.needed)
        self._device, self._driver = device, device.driver
        self._owned: list[int] = []
        finalize(self, device.release, self._owned).atexit = False  # then it goes with the process
        before = device.functions
        self._prepare()
        prepared, loaded = self.prepared, device.functions - before
        self.origins: Origins = (loaded, len(prepared.functions) - loaded, 0)
        program, step = prepared.program, prepared.step
        self._fed, self._read = len(step.feeds), len(step.reads)
        given = (*program.arguments[: self._fed], *program.arguments[self._fed + self._read :])
        self._homes = {r: op for r, op in enumerate(step.writes, step.fetches) if self._stays(r, op)}
        self._given = given
        self._beside: dict[int, int] = {}
        self._slots: list[Slot] = []
        self._graphs: list[list[Action]] = []
        self._recorders: list[GraphRecorder | None] = []  # of the graphs, which use memory of theirs
        self._captured = [-1] * SLOTS  # the device's `moved` when that was
        self._runs = 0
        self._timing: Untimed = UNTIMED
        self._room = 0, 0  # memory for what launches leave to later ones: its address and its bytes
        self._sorted: GpuCompiled | None = None  # whose constant indices are in order
        self._marked = -1  # the store's `turns` when it was told what changes
        self._constants = CardConstants(device, program.constants) if constants is None else constants
        self._is_run = runs
        calls = [call for call in program.host_calls if call.is_collective]
        self._collectives = _exchanging(calls, step) if calls else None
        self._take_memory()

    @cached_property
    def compiled(self) -> GpuCompiled:
        """All that is known of the step: `again` compiles it, if this is only what a run needs."""
        return self.prepared if self._again is None else self._again()

    def settle(self, store: VariableStore, interrupted: bool) -> None:
        """Do nothing more: the commit alone changes variables."""

    def step(
        self, feeds: Sequence[np.ndarray], store: VariableStore, recyclers: Sequence[BufferPool] = ()
    ) -> tuple[list[np.ndarray], PendingWrites]:
        assert isinstance(store, DeviceStore)
        states = [store.random_state(op) for op in self.prepared.step.counters]
        slot = self._ran(feeds, states, store)
        arrays = self._fetched(slot, recyclers)
        step, others = self.prepared.step, [view.copy() for view in slot.made.views[len(arrays) :]]
        writes = [op for r, op in enumerate(step.writes, step.fetches) if r not in self._homes]
        return arrays, PendingWrites.of(step, writes, others)

    def replay(
        self, feeds: Sequence[np.ndarray], store: DeviceStore, recyclers: Sequence[BufferPool]
    ) -> list[np.ndarray]:
        """Replay the captured run, change the store, and return the fetches. Only valid if `is_captured`."""
        step = self.prepared.step
        states = [store.random_state(op) for op in step.counters]
        slot = self._ran(feeds, states, store)
        for state, advance in zip(states, step.advances, strict=True):
            state[0] += advance
        return self._fetched(slot, recyclers)

    @property
    def is_captured(self) -> bool:
        """True if a run is only a replay: the host has nothing else to do but advance the random ops."""
        step = self.prepared.step
        plain = not step.checked and not step.draws and len(self._homes) == len(step.writes)
        return plain and self._captured[0] == self._captured[1] == self._device.moved

    def _ran(self, feeds: Sequence[np.ndarray], states: Sequence[np.ndarray], store: DeviceStore) -> Slot:
        """Run the step with these arguments: the slot that has the results."""
        if self._collectives is None:
            return self._explained(feeds, states, store)
        self._collectives.begin(store)
        try:
            connect_cards(self._device, self._collectives)
            slot = self._explained(feeds, states, store)
        except BaseException:
            self._collectives.fail()
            raise
        self._collectives.succeed()
        return slot

    def _explained(
        self, feeds: Sequence[np.ndarray], states: Sequence[np.ndarray], store: DeviceStore
    ) -> Slot:
        """Run the step. Errors tell what was wrong with a feed, how much memory is needed, and lines."""
        if self._feed_checks is not None and not self._feed_checks(feeds):
            self._fail(feeds, store)
        while True:
            try:
                return self._run(feeds, states, store)
            except Unsound:
                self._fail(feeds, store)
            except ResourceExhaustedError as error:
                if not self._needs_less():
                    raise with_plan(error, self.compiled.memory) from None
            except OpError as error:
                raise with_line(error) from None

    def _needs_less(self) -> bool:
        """Make do with less memory, if the GPU has not enough. Return False if that is not possible.

        Work side by side shares scratch memory then, and functions of our own do what cuDNN needs memory for.
        """
        before = self.prepared.scratch
        if self.prepared.room:
            self.prepared = replace(self.prepared, room=0)
        if self.prepared.scratch == before and self._less is not None and self.prepared.convolutions:
            self._without("cuDNN", "convolutions")
        return self.prepared.scratch < before

    def _prepare(self) -> None:
        """Have all that the step asks for loaded and chosen, before it is captured."""
        try:
            prepare(self._device, self.prepared)
        except ResourceExhaustedError:
            if self._less is None or not self.prepared.multiplies:
                raise
            self._without("cuBLAS", "products")
            prepare(self._device, self.prepared)

    def _without(self, library: str, work: str) -> None:
        """Have functions of our own do some work, for which a library has no memory."""
        assert self._less is not None
        warnings.warn(_SHORT.format(library, work), RuntimeWarning, stacklevel=2)
        self.prepared = replace(self._less(library != "cuBLAS"), room=0)
        self._again = None
        self.__dict__.pop("compiled", None)

    def _run(self, feeds: Sequence[np.ndarray], states: Sequence[np.ndarray], store: DeviceStore) -> Slot:
        self._is_run(self)
        if not self._slots:
            self._take_memory()
        turn = self._runs % SLOTS
        slot = self._slots[turn]
        if slot.busy is not None:
            slot.wait()
        taken = slot.given.fill((*feeds, *states), told=not slot.made.size)
        if store.stale:
            store.refresh()
        if self._captured[turn] == self._device.moved:
            for part in self._graphs[turn]:
                part()
        else:
            self._ask(turn, slot, store)
        self._runs += 1
        if self._marked != store.turns:
            self._mark(store)
        if slot.made.size:
            self._driver.synchronize()
        else:
            slot.busy = self._driver.event()
            for moment in taken:  # the caller may change what the GPU reads as soon as the run returns
                moment.wait()
        return slot

    @property
    def driver(self) -> Driver:
        """The driver of its GPU."""
        return self._driver

    def time(self, timing: Untimed) -> None:
        """From now on, have runs take their times, or not."""
        self._timing = timing
        self.prepared = self.compiled  # whose launches know the graph
        for slot in self._slots:
            slot.given.ahead = timing is UNTIMED
        self._captured = [-1] * SLOTS

    # What is asked of the GPU

    def _ask(self, turn: int, slot: Slot, store: DeviceStore) -> None:
        """Run the step now; from the second run on, as what is captured for the runs to come."""
        moved = -1
        while moved != self._device.moved:  # where memory is short, what was chosen before has to be again
            moved = self._device.moved
            self._prepare()
            kept = self._keeping()
            program = self.prepared.program
            arena = self._device.arena(padded(program.arena + 1) + self.prepared.scratch)
            table = self._table(arena, slot, store)
        scratch = arena + padded(program.arena + 1)
        merges = self._runs > 0 and self._may_merge(self)
        how = (self._timing, self._overlap, merges, kept)
        recorder = GraphRecorder(self._device, self.prepared, scratch, *how)
        store.refresh()

        def ask() -> None:
            given, made = slot.given, slot.made
            if given.size:
                with self._timing.of(FEEDS), recorder.touching([given.host_span], [given.span]):
                    given.send()
            for arrival, span in given.arrivals:
                with recorder.touching([], [span]):
                    arrival.awaited()
            recorder.program(program, table)
            self._move(store, recorder.copy)
            if made.size:
                with self._timing.of(FETCHES), recorder.touching([made.span], [made.host_span]):
                    made.fetch()

        parts: list[Action] = [ask]
        if self._runs:
            parts = recorder.captured(ask, program, table)
        parts = self._timing.around(parts, captured=self._runs > 0)
        if self._runs:
            self._graphs[turn], self._captured[turn] = parts, self._device.moved
            self._recorders[turn] = recorder
        changed = (
            () if self._runs else [self._span(r, op, store) for r, op in self._homes.items() if op in store]
        )
        with untouched_if_it_fails(self._driver, changed):
            for part in parts:
                part()
        self._sorted = self.prepared

    def _span(self, r: int, op: Operation, store: DeviceStore) -> Span:
        """The bytes of a variable."""
        type = self.prepared.program.results[r]
        place = store.room(op, type)
        return place, place + bytes_of(type)

    def _keeping(self) -> KeptResults:
        """Return the memory for what launches leave to later ones; nothing where memory is short."""
        sorts = self.prepared.kept if self._timing is UNTIMED else NOTHING.sorts
        if sorts.size > self._room[1]:
            with suppress(ResourceExhaustedError):
                self._room = self._device.allocate(sorts.size), sorts.size
                self._owned.append(self._room[0])
        if not sorts.size or sorts.size > self._room[1]:
            return NOTHING
        return KeptResults(sorts, self._room[0], self._sorted is self.prepared)

    def _table(self, arena: int, slot: Slot, store: DeviceStore) -> list[int]:
        """The addresses of the program's slots."""
        program, step = self.prepared.program, self.prepared.step
        table = [0] * program.slots
        table[ARENA], table[CONSTANTS] = arena, self._constants.address
        given, made = slot.given.addresses, iter(slot.made.addresses)
        # The program does not read a variable without a value.
        variables = [store.place(op) if op in store else arena for op in step.reads]
        table[ARGUMENTS : program.first_result] = [*given[: self._fed], *variables, *given[self._fed :]]
        for r, type in enumerate(program.results):
            if (op := self._homes.get(r)) is None:
                table[program.first_result + r] = next(made)
            else:
                place = store.room(op, type)
                table[program.first_result + r] = self._beside.get(r, place)
        return table

    def _move(self, store: DeviceStore, copy: Callable[[int, int, int], None]) -> None:
        """Ask for new values to be brought where their variables are."""
        for r, source in self._beside.items():
            type = self.prepared.program.results[r]
            if type.size:
                copy(store.room(self._homes[r], type), source, bytes_of(type))

    def _mark(self, store: DeviceStore) -> None:
        for op in self._homes.values():
            store.changed(op)
        self._marked = store.turns

    def _fail(self, feeds: Sequence[np.ndarray], store: DeviceStore) -> NoReturn:
        """Raise the error that says which check of the step failed."""
        assert self.checks is not None
        types = self.prepared.program.arguments[self._fed :]
        self.checks.fail([*feeds, *store.arguments(self.prepared.step, types)])

    # Where results go

    def _stays(self, r: int, op: Operation) -> bool:
        """Return True if a new value stays on the GPU.

        It does not stay if later stages decide what becomes of it, or if its variable gets another shape
        while the old value is read.
        """
        step, program = self.prepared.step, self.prepared.program
        old = {op: program.arguments[self._fed + i] for i, op in enumerate(step.reads)}
        reshaped = op in old and old[op] != program.results[r]
        last = step.may_overwrite if self.checks is None else self.checks.last
        return last and not reshaped

    def _is_moved(self, r: int) -> bool:
        """Return True if a new value is made beside the old one and then copied over it.

        That is the case if the step reads the old value, or if the run may fail. Updates in place are not
        moved.
        """
        step, program = self.prepared.step, self.prepared.program
        if step.updates.get(r, -1) in program.in_place:
            return False
        return self._homes[r] in step.reads or decides(program)

    def _fetched(self, slot: Slot, recyclers: Sequence[BufferPool]) -> list[np.ndarray]:
        """Copies of what the packet holds, which the next run but one overwrites."""
        arrays = []
        for number, view in enumerate(slot.made.views[: self.prepared.step.fetches]):
            if view.nbytes < LARGE or number >= len(recyclers):
                arrays.append(view.copy())
            else:
                arrays.append(recyclers[number].array(self.prepared.program.results[number]))
                staging.copy(arrays[-1], view)
        return arrays

    # Memory

    def _take_memory(self) -> None:
        """Get the memory that a run needs beside the arena."""
        program = self.prepared.program
        self._beside = {r: self._own(program.results[r]) for r in self._homes if self._is_moved(r)}
        made = [type for r, type in enumerate(program.results) if r not in self._homes]
        self._slots = [Slot(self._packet(self._given, ahead=True), self._packet(made)) for _ in range(SLOTS)]
        self._graphs = [[] for _ in range(SLOTS)]
        self._recorders = [None] * SLOTS
        for slot in self._slots:
            # What is sent ahead is in no graph, where times are taken.
            slot.given.ahead = self._timing is UNTIMED

    def drop(self) -> None:
        """Give back what was captured, and the memory for it. The next run begins anew."""
        self._captured, self._runs = [-1] * SLOTS, 0
        self._device.release(self._owned)
        self._owned.clear()
        self._graphs, self._recorders, self._slots, self._beside = [], [], [], {}
        self._room, self._sorted = (0, 0), None

    def _packet(self, types: Sequence[TensorType], ahead: bool = False) -> Packet:
        packet = Packet(self._device, types, ahead)
        self._owned.append(packet.address)
        return packet

    def _own(self, type: TensorType) -> int:
        self._owned.append(self._device.allocate(max(bytes_of(type), 1)))
        return self._owned[-1]


def _exchanging(calls: Sequence[HostCall], step: Step) -> CollectiveCalls:
    """Return what the collectives of a step need, which the host performs."""
    from staticgraph.runtime.processes.collective_calls import CollectiveCalls  # few steps have some

    return CollectiveCalls(calls, step, "GPU")
