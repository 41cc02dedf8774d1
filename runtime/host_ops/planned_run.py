"""The stages of a run in segments, found without data: for files that bring machine code of each of them.

A run finds its next stage by what is known so far, and that is the same in each run. So here values are
types: those of the feeds, of what stages compute and of what host ops return, with None for a size that only
a run tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.step import NeedsHost, NeedsStage, Step
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor, regions_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.host_ops.host_run_state import Call, Event, HostRunState
from staticgraph.runtime.host_ops.segmented_run import SegmentedRun, StageKey
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.variables import PendingWrites


@dataclass(frozen=True, slots=True)
class StageMade:
    """A compiled stage.

    Attributes:
        step: Its step.
        fetched: The types of what it fetches.
        programs: Its programs, which are the caller's.
        start: The shapes of its feeds, and the contents of those that are sizes.
    """

    step: Step
    fetched: Sequence[TensorType]
    programs: Any
    start: OpenShapes


# Compiles a stage for feeds of these types; None if that cannot be done without data.
Make = Callable[[ProgramCache, Sequence[TensorType]], StageMade | NeedsStage | NeedsHost | None]


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage of a run, what must be computed before it, in as many stages as that takes, and programs."""

    key: StageKey
    early: tuple[tuple[Tensor, ...], ...]
    programs: Any


class PlannedRun(SegmentedRun):
    """A run of types.

    Args:
        whole: The run.
        make: Compiles its stages.
    """

    def __init__(self, whole: ProgramCache, make: Make) -> None:
        super().__init__(whole, _no_regions)
        self._make = make
        self._made: dict[ProgramCache, StageMade] = {}

    def stages(self, feeds: Mapping[Tensor, TensorType]) -> tuple[set[Operation], list[PlannedStage]] | None:
        """Return the stages for feeds of these types.

        Returns:
            The host ops that must be called before the compiled stages, and the stages. None if they cannot
            be told without data: loops and branches that Python does are runs of their own.
        """
        if self._plan(feeds) is None:
            return None
        caches = [(stage, p) for (stage, _), p in self._caches.items() if p in self._made]
        return self._forced, [
            PlannedStage(stage.key_of(p.feeds), tuple(self._early[stage]), self._made[p].programs)
            for stage, p in caches
        ]

    def events(self, feeds: Mapping[Tensor, TensorType]) -> list[Event] | None:
        """Return the stages and the calls of host ops in order, also of those after the last stage.

        None as of `stages`. The program of a stage is a `StageMade`.
        """
        turn = self._plan(feeds)
        if turn is None:
            return None
        for op in self._stages.trailing:
            turn.call(op)
        return turn.events

    def _plan(self, feeds: Mapping[Tensor, TensorType]) -> HostRunState | None:
        if self._stages.cuts or any(map(regions_of, self._hosts)):
            return None
        turn = _Types(feeds, self._store, self._stages, self._regions, (), self._pads)
        try:
            self._compute(self._main(turn), turn)
        except _NoPlan:
            return None
        return turn

    def _found(self, programs: ProgramCache, given: Sequence[Any], runs: bool) -> Any:
        found = self._made.get(programs)
        if found is not None:
            return found
        match self._make(programs, given):
            case None:
                raise _NoPlan
            case StageMade() as made:
                self._made[programs] = made
                return made
            case needs:
                return needs

    def _performed(
        self, programs: ProgramCache, program: Any, given: Sequence[Any], turn: HostRunState
    ) -> tuple[Step, Sequence[Any], PendingWrites]:
        return program.step, program.fetched, PendingWrites()


class _NoPlan(Exception):
    """A stage cannot be compiled without data."""


class _Types(HostRunState):
    """A run in progress whose values are types."""

    def call(self, op: Operation) -> None:
        """Know the results of a host op."""
        self.called.add(op)
        self._learn(op.outputs, [t.type for t in op.outputs])
        self.events.append(Call(op, len(self._padded(op))))


def _no_regions(*_: Any) -> NoReturn:
    raise AssertionError("a planned run has no regions")
