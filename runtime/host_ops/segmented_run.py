"""A run of several stages: compiled steps, and the host ops that are called before, between and after them.

Every stage sees the variables and the states of random ops as they were before the run. What changes is
committed when all stages and all host ops have succeeded, so a run that fails changes nothing in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.segments import crossing, is_host, reaches, stages
from staticgraph.compiler.capture.step import Calls, NeedsHost, NeedsSegments, NeedsStage, Step
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Tensor, outermost, regions_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.backend import FastPath
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.feeds import in_order
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.host_ops.host_run_state import NOTHING, HostRunState, StageRun
from staticgraph.runtime.host_ops.recorded_run import RecordedRun, Unfinished, recordable, repeatable
from staticgraph.runtime.host_ops.regions import Inner, Regions
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.variables import PendingWrites

Adopt = Callable[[ProgramCache], None]  # gives the programs of a stage one that was made elsewhere
WARM = 2  # planned runs before one is recorded


@dataclass(frozen=True, slots=True)
class StageKey:
    """Key of a stage among those of its run.

    Attributes:
        tensors: What it computes.
        targets: What it does besides.
        taking: The host ops whose inputs it computes.
        feeds: What it is fed.
    """

    tensors: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    taking: tuple[Operation, ...]
    feeds: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class _Stage:
    """Work of one compiled stage.

    Its programs are looked up by this and by the tensors with known values.
    """

    tensors: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    calls: Calls

    def key_of(self, feeds: tuple[Tensor, ...] = ()) -> StageKey:
        """Return the key of the stage with these feeds."""
        return StageKey(self.tensors, self.targets, self.calls.after, feeds)

    @property
    def is_empty(self) -> bool:
        return not (self.tensors or self.targets or self.calls.after)


class SegmentedRun:
    """A run that one program cannot do. `inner` makes the runs of the regions of loops and branches."""

    def __init__(self, whole: ProgramCache, inner: Inner) -> None:
        self._whole = whole
        self._fetches = whole.fetches
        self._feeds = whole.feeds
        self._fed = frozenset(whole.feeds)
        self._store = whole.store
        self._region = whole.calls.region
        self._regions = Regions(whole.graph, whole.store.resources, inner)
        compiler = whole.compiler
        # A guard against NaN looks at what host ops take, and would look behind results that are padded.
        self._pads = compiler.backend.pads and not compiler.settings.check_nan
        self._text = frozenset(t.op for t in whole.feeds if t.dtype is string)
        self._forced: set[Operation] = set()
        # What must be computed before a stage, in as many stages as it took to find that out.
        self._early: dict[_Stage, list[tuple[Tensor, ...]]] = {}
        self._failed: HostRunState | None = None  # the last run that did, if failures are kept
        self._fast_paths: dict[ProgramCache, FastPath] = {}
        self._caches: dict[tuple[_Stage, tuple[Tensor, ...]], ProgramCache] = {}
        self._early_ahead: dict[StageKey, Sequence[tuple[Tensor, ...]]] = {}
        self._ahead: dict[StageKey, list[Adopt]] = {}
        self._planned = 0  # runs that succeeded without a record
        self._record: RecordedRun | None = None
        self._arrange()

    def _arrange(self) -> None:
        fetches = self._fetches
        self._stages = stages(fetches.tensors, fetches.targets, self._fed, self._forced, self._region)
        leading = self._stages.leading
        self._hosts = frozenset((*leading, *self._stages.trailing))
        # What each leading op takes is computed after these leading ops, and with these assignments.
        seen = {op: self._stages.seen(op, self._fed) for op in leading}
        self._before = {op: seen[op].intersection(leading) - {op} for op in leading}
        for op, before in self._before.items():
            before.update(cut for cut in self._stages.cuts if cut.id < op.id)
        self._writes = {op: [w for w in self._stages.writes if w in seen[op]] for op in leading}
        # Another thread may change the memory of feeds while a host op waits, and a queue keeps what it gets.
        waits = any(op.definition.effect is Effect.HOST for op in self._hosts)
        self._copied = waits or any(t in self._fed for op in self._hosts for t in op.all_inputs)
        # What waits lets others see what was changed so far, and rounds in Python are runs of their own.
        self.changes_early = waits or any(map(regions_of, self._hosts))
        settings = self._whole.compiler.settings
        watched = settings.check_nan or settings.failures is not None
        self._repeats = not watched and repeatable(self._stages, self._feeds)

    def adopt(
        self,
        forced: Iterable[Operation],
        early: Mapping[StageKey, Sequence[tuple[Tensor, ...]]],
        programs: Mapping[StageKey, Iterable[Adopt]],
    ) -> None:
        """Use stages that were compiled elsewhere: see `PlannedRun`.

        Args:
            forced: The host ops that must be called first.
            early: What must be computed before a stage, by its key without feeds.
            programs: What gives a stage its programs, by its key.
        """
        self._forced.update(forced)
        self._arrange()
        self._early_ahead.update(early)
        for key, added in programs.items():
            self._ahead[key] = [*self._ahead.get(key, ()), *added]

    def take_failed(self) -> HostRunState | None:
        """Return the state of the run that failed last, once; None if there is none."""
        failed, self._failed = self._failed, None
        return failed

    def run(self, arrays: Sequence[np.ndarray]) -> Any:
        """Return the fetched structure for these values of the feeds. Change the variables."""
        if self._copied:
            arrays = [a.copy() for a in arrays]
        repeats = self._repeats and not self._whole.compiler.host_observers
        begun = None
        if repeats and self._record is not None:
            begun = self._record(arrays)
            if not isinstance(begun, Unfinished):
                return begun
        turn = self._turn(arrays, NOTHING if begun is None else begun.made)
        try:
            made = self._take(turn)
            if repeats:
                self._keep(turn)
            return made
        except Exception:
            self._failed = turn if self._whole.compiler.settings.failures is not None else None
            raise

    def _keep(self, turn: HostRunState) -> None:
        """Record a run that succeeded, if it is the second one: what must be found out once is known then."""
        self._planned += 1
        if not recordable(turn.events):
            self._repeats = False
        elif self._planned >= WARM:
            own = frozenset(turn.own)
            self._record = RecordedRun(turn.events, self._fetches, own, self._feeds, self._store)

    def _turn(
        self, arrays: Sequence[np.ndarray], made: Mapping[Operation, tuple[np.ndarray, ...]] = NOTHING
    ) -> HostRunState:
        """Return a new run for these values of the feeds. `made`: results of host ops that were called."""
        fed = dict(zip(self._feeds, arrays, strict=True))
        observers = self._whole.compiler.host_observers
        return HostRunState(fed, self._store, self._stages, self._regions, observers, self._pads, made)

    def _take(self, turn: HostRunState) -> Any:
        main = self._main(turn)
        computed = self._finish(main, turn)
        for op in self._stages.trailing:
            turn.call(op)
        fetched = [computed[t] if t in computed else turn.result(t) for t in self._fetches.tensors]
        turn.changes.commit(self._store)
        return self._fetches.assemble([value[()] for value in fetched])

    def _finish(self, main: _Stage, turn: HostRunState) -> dict[Tensor, np.ndarray]:
        """Run the main stage: the values of its tensors. Machine code commits it if nothing else is to be."""
        if main.is_empty or self._stages.trailing or turn.changes or self._repeats:
            return self._compute(main, turn)
        programs, given, program = self._prepared(main, turn)
        turn.rewind(program.prepared.step)
        fast_path = self._fast_paths.get(programs)
        if fast_path is None:
            fast_path = self._fast_paths[programs] = programs.fast_path(tuple(range(len(given))))
        made = fast_path(*given)
        if made is NotImplemented:
            made = programs.run(program, given)
            fast_path.add(program)
        return dict(zip(main.tensors, map(np.asarray, made), strict=False))

    def planned(self, arrays: Sequence[np.ndarray]) -> tuple[ProgramCache, Executable]:
        """Return the programs of the main stage and that for these arrays. Call the host ops it needs."""
        turn = self._turn(arrays)
        main = self._main(turn)
        if main.is_empty:
            text = "nothing in these fetches is compiled: they are computed in Python"
            raise misuse(InvalidArgumentError, text)
        programs, _, program = self._prepared(main, turn, runs=False)
        return programs, program

    def _main(self, turn: HostRunState) -> _Stage:
        """The stage that changes variables, when all that it needs of host ops is known."""
        self._lead(turn)
        tensors = [t for t in self._fetches.tensors if t not in turn.values and not is_host(t.op)]
        targets = [op for op in self._fetches.targets if not is_host(op)]
        trailing = self._stages.trailing
        taking = tuple(op for op in trailing if turn.lacks(op))
        calls = self._calls(turn, taking, may_fail=bool(trailing))
        acting = (op for op in (*self._stages.writes, *self._stages.effects) if op not in turn.done)
        return _Stage(tuple(tensors), (*targets, *acting), calls)

    def _calls(self, turn: HostRunState, taking: Collection[Operation], **rest: bool) -> Calls:
        """Return the calls around a stage that computes the inputs of the host ops `taking`."""
        left_out = (self._hosts | self._text).difference(taking) | turn.done
        settled = frozenset(turn.settled)
        return Calls(tuple(taking), left_out, region=self._region, pads=self._pads, settled=settled, **rest)

    def _lead(self, turn: HostRunState) -> None:
        """Call the leading ops that were not called yet."""
        for op in self._stages.leading:
            if op not in turn.called:
                if op in self._stages.cuts:
                    self._settle(op, turn)
                self._give(op, turn)
                turn.call(op)

    def _settle(self, cut: Operation, turn: HostRunState) -> None:
        """Do what was made before a cut, and commit it: the cut is a run of its own, or several."""
        acting = [op for op in (*self._stages.writes, *self._stages.effects) if op.id < cut.id]
        targets = tuple(op for op in acting if op not in turn.done)
        found = crossing(cut, self._stages.native, self._fetches.tensors, self._region)
        tensors = tuple(t for t in found if t not in turn.values)
        self._compute(_Stage(tensors, targets, self._calls(turn, ())), turn)
        turn.settle(targets, tensors)

    def _give(self, op: Operation, turn: HostRunState) -> None:
        """Compute what a leading op takes, and at once what the others take that need not wait."""
        if turn.lacks(op):
            self._call_computed(turn)
            ready = [o for o in self._stages.leading if turn.lacks(o) and self._before[o] <= turn.called]
            writes = dict.fromkeys(w for o in ready for w in self._writes[o] if w not in turn.done)
            self._compute(_Stage((), (*writes,), self._calls(turn, ready, final=False)), turn)

    def _call_computed(self, turn: HostRunState) -> None:
        """Call pure leading ops ahead of their turn, if no stage need come before: then the next one serves
        all that takes their results.
        """
        for op in self._stages.leading:
            pure = op.definition.effect is Effect.PURE and not regions_of(op)
            if pure and op not in turn.called and self._before[op] <= turn.called and not turn.lacks(op):
                turn.call(op)

    def _compute(self, stage: _Stage, turn: HostRunState) -> dict[Tensor, np.ndarray]:
        """Run a stage: the values of its tensors."""
        if stage.is_empty:
            return {}
        programs, given, program = self._prepared(stage, turn)
        step, fetched, changes = self._performed(programs, program, given, turn)
        turn.take(step, stage.tensors, fetched, changes)
        turn.events.append(StageRun(programs, program, stage.tensors))
        return dict(zip(stage.tensors, fetched, strict=False))

    def _performed(
        self, programs: ProgramCache, program: Executable, given: Sequence[Any], turn: HostRunState
    ) -> tuple[Step, Sequence[Any], PendingWrites]:
        """Run the program of a stage: its step, what it fetches, and what is to change."""
        step = program.prepared.step
        turn.rewind(step)
        return step, *programs.call(program, given)

    def _found(self, programs: ProgramCache, given: Sequence[Any], runs: bool) -> Executable | NeedsSegments:
        """Return the program of a stage for these values of its feeds, or what must come before it."""
        return programs.ready(given) if runs else programs.program(given)

    def _prepared(
        self, stage: _Stage, turn: HostRunState, runs: bool = True
    ) -> tuple[ProgramCache, list[Any], Executable]:
        """Return the programs of a stage, the values of their feeds and the program for these values.

        Compute what shapes depend on. If the stage `runs`, its variables have the values that it needs.
        """
        early = self._early.setdefault(stage, [*self._early_ahead.get(stage.key_of(), ())])
        while True:
            for tensors in early:
                if unknown := tuple(t for t in tensors if t not in turn.values):
                    turn.values |= self._compute(self._earlier(unknown, turn), turn)  # those of variables too
            programs = self._programs(stage, turn)
            given = [turn.values[t] for t in programs.feeds]
            match self._found(programs, given, runs):
                case NeedsStage(tensors):
                    early.append(tensors)
                    self._fast_paths.pop(self._caches.pop((stage, tuple(turn.values))), None)
                case NeedsHost(op):
                    self._force(op, turn)
                case program:
                    return programs, given, program

    def _earlier(self, tensors: tuple[Tensor, ...], turn: HostRunState) -> _Stage:
        """The stage that computes what the shapes of another one depend on."""
        seen = {op for t in tensors for op in self._stages.seen(outermost(t, self._region), self._fed)}
        writes = tuple(w for w in self._stages.writes if w in seen and w not in turn.done)
        return _Stage(tensors, writes, self._calls(turn, (), final=False))

    def _force(self, op: Operation, turn: HostRunState) -> None:
        """Call a host op first after all: it depends on constants, but on too large ones for the compiler, or
        it lies above a fed tensor that a derivative flows through.
        """
        self._forced.add(op)
        self._arrange()
        self._lead(turn)

    def _programs(self, stage: _Stage, turn: HostRunState) -> ProgramCache:
        known = tuple(turn.values)
        found = self._caches.get((stage, known))
        if found is None:
            roots = (*(outermost(t, self._region) for t in stage.tensors), *stage.targets, *stage.calls.after)
            numbers = [t for t in known if t.dtype is not string]
            used = reaches(roots, numbers, stage.calls.elsewhere)
            feeds = in_order(used)
            whole = self._whole
            fetches = Fetches(whole.graph, [*stage.tensors, *stage.targets])
            found = ProgramCache(whole.graph, fetches, feeds, whole.compiler, whole.store, stage.calls)
            found.know([t for tensors in self._early[stage] for t in tensors if t in feeds])
            for adopt in self._ahead.get(stage.key_of(feeds), ()):
                adopt(found)
            self._caches[stage, known] = found
        return found
