"""Stages of runs in segments, as the record of machine code tells them, and the programs of each of them.

A function with host ops is compiled in stages: see `runtime/host_ops`. The record lists them by the names of
what they compute, take and are fed. Of a program, it also tells which of its results are for host ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any

from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.segments import count_of, is_host
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu.backend import bound
from staticgraph.runtime.cpu.disk.loaded_program import LoadedProgram
from staticgraph.runtime.files import graph_json
from staticgraph.runtime.files.attributes import Kinds, check, fields, items
from staticgraph.runtime.files.code.coherence import require_type
from staticgraph.runtime.host_ops.planned_run import PlannedStage
from staticgraph.runtime.host_ops.segmented_run import StageKey
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.session import Session

_RUN: Kinds = {"signature": (str,), "feeds": (list,), "forced": (list,), "stages": (list,)}
_STAGE: Kinds = {
    "tensors": (list,), "targets": (list,), "taking": (list,), "feeds": (list,), "early": (list,),
}  # fmt: skip
_MOST_PARTS = 8  # padded results of a host op
_COUNT = "count of "  # before the name of an operation whose data decide a size


def run_record(
    signature: str, labels: Sequence[str], forced: Iterable[Operation], stages: Iterable[PlannedStage]
) -> dict[str, Any]:
    """Describe the run of a signature with these inputs: its stages, without their programs."""
    return {
        "signature": signature,
        "feeds": [*labels],
        "forced": sorted(op.name for op in forced),
        "stages": [
            {
                "tensors": [*map(name_of, stage.key.tensors)],
                "targets": [op.name for op in stage.key.targets],
                "taking": [op.name for op in stage.key.taking],
                "feeds": [*map(name_of, stage.key.feeds)],
                "early": [[*map(name_of, tensors)] for tensors in stage.early],
            }
            for stage in stages
        ],
    }


def captured_record(step: Step) -> list[list[Any]]:
    """Describe what a stage computes for host ops: inputs by name, and parts of results by number."""
    return [[op.name, name_of(t) if isinstance(t, Tensor) else t] for op, t in step.captured]


def name_of(tensor: Tensor) -> str:
    """Return the name of a tensor. One that the data of an operation decide is no part of the graph."""
    op = tensor.op
    return tensor.name if op.graph.has_operation(op.name) else f"{_COUNT}{op.name.rpartition('/')[0]}"


def _tensor(graph: Graph, name: Any) -> Tensor:
    if not check(name, "the name of a tensor", str).startswith(_COUNT):
        return graph_json.tensor(graph, name)
    op = graph_json.operation(graph, name.removeprefix(_COUNT))
    if op.definition.counted is None:
        raise InvalidFileError(f"the data of {op.name} decide no size")
    return count_of(op)


@dataclass(slots=True)
class _Stage:
    """A stage of a run that was read, and its programs: with their open shapes, if sizes are open."""

    key: StageKey
    early: list[tuple[Tensor, ...]]
    programs: list[tuple[LoadedProgram, OpenShapes | None, tuple[AnySize, ...]]] = field(default_factory=list)


class StagedRun:
    """A run that was read: the stages, to which programs are added.

    Args:
        graph: The graph of the file.
        told: The record that `run_record` made.
    """

    def __init__(self, graph: Graph, told: Any) -> None:
        self._graph, told = graph, fields(told, "a run in stages", _RUN)
        self.signature: str = told["signature"]
        self.labels: list[str] = items(told["feeds"], "the feeds of a run", str)
        self._forced = self._operations(told["forced"])
        if not all(map(is_host, self._forced)):
            raise InvalidFileError("a run calls an operation in Python that is compiled")
        self._stages = [self._stage(each) for each in told["stages"]]
        self._check_order()

    def _operations(self, names: Any) -> tuple[Operation, ...]:
        return tuple(graph_json.operation(self._graph, n) for n in items(names, "operations of a run", str))

    def _tensors(self, names: Any) -> tuple[Tensor, ...]:
        return tuple(_tensor(self._graph, n) for n in items(names, "tensors of a run", str))

    def _stage(self, told: Any) -> _Stage:
        told = fields(told, "a stage of a run", _STAGE)
        targets, taking = self._operations(told["targets"]), self._operations(told["taking"])
        key = StageKey(self._tensors(told["tensors"]), targets, taking, self._tensors(told["feeds"]))
        return _Stage(key, [self._tensors(names) for names in told["early"]])

    def _check_order(self) -> None:
        """Raise InvalidFileError if a stage must come before itself."""
        before: dict[Tensor, set[Tensor]] = {}
        for stage in self._stages:
            for tensor in stage.key.tensors:
                before.setdefault(tensor, set()).update(t for tensors in stage.early for t in tensors)
        try:
            TopologicalSorter(before).prepare()
        except CycleError:
            raise InvalidFileError("a run has a stage that must come before itself") from None

    def stage(self, number: int) -> StageKey:
        """Return the key of a stage. Raises InvalidFileError if there is none of this number."""
        if not 0 <= number < len(self._stages):
            raise InvalidFileError(f"a run has no stage {number}")
        return self._stages[number].key

    def captured(self, number: int, told: Any) -> tuple[tuple[Operation, Tensor | int], ...]:
        """Return what a program of a stage computes for host ops, as `captured_record` told it."""
        key, found = self.stage(number), []
        for pair in items(told, "what a stage computes for Python", list):
            if len(pair) != 2:
                raise InvalidFileError("what a stage computes for Python is an operation and a part of it")
            op, what = graph_json.operation(self._graph, pair[0]), check(pair[1], "a part", str, int)
            part = _tensor(self._graph, what) if isinstance(what, str) else what
            known = part in op.all_inputs if isinstance(part, Tensor) else 0 <= part < _MOST_PARTS
            if op not in key.taking or not known:
                raise InvalidFileError(f"a stage computes {what!r} for {op.name}, which does not take it")
            found.append((op, part))
        return tuple(found)

    def add(
        self, number: int, program: LoadedProgram, shapes: OpenShapes | None, blocks: tuple[AnySize, ...]
    ) -> None:
        """Give a program to a stage.

        Args:
            number: The number of the stage.
            program: The program.
            shapes: The shapes of its feeds, if sizes are open.
            blocks: The bytes of each block of memory of open size.

        Raises:
            InvalidFileError: If it takes or makes values of other types than the graph has.
        """
        key, step = self.stage(number), program.step
        made = [*key.tensors, *(t for _, t in step.captured)]
        types = program.program
        if len(made) != step.fetches:
            raise InvalidFileError("a stage has other values than its program")
        for tensor, type in zip(made, types.results, strict=False):
            if isinstance(tensor, Tensor):
                require_type(tensor, type)
        self._stages[number].programs.append((program, shapes, blocks))

    def adopt(self, fetches: Any, feeds: Sequence[Tensor], session: Session) -> None:
        """Let `session` run the stages without compiling them."""
        steps = [program.step for stage in self._stages for program, _, _ in stage.programs]
        run = session.run_for(fetches, feeds, steps) if session.settings.memory_limit is None else None
        if run is None:
            return
        early: dict[StageKey, list[tuple[Tensor, ...]]] = {}
        programs: dict[StageKey, list[Any]] = {}
        for stage in self._stages:
            key = stage.key
            early.setdefault(StageKey(key.tensors, key.targets, key.taking), stage.early)
            programs.setdefault(key, []).extend(partial(_give, *each) for each in stage.programs)
        run.in_segments().adopt(self._forced, early, programs)


def _give(
    program: LoadedProgram, shapes: OpenShapes | None, blocks: tuple[AnySize, ...], to: ProgramCache
) -> None:
    """Give a program to those of its stage."""
    step, made = program.step, bound(program)
    if shapes is not None:
        to.adopt_open(shapes, blocks, step, made)
        return
    given = [t.static_shape for t in program.program.arguments[: len(to.feeds)]]
    bind = to.compiler.binding(made, step, to.fetches, last=step.may_overwrite)
    to.adopt(bind({}, (), partial(to.step, given, {}, {})))
