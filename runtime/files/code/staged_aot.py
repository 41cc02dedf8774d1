"""Functions with host ops, compiled in stages for files: each for all sizes that it may meet in a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from types import MappingProxyType

from staticgraph.compiler.capture.all_sizes import AllSizes, for_all_sizes
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.step import NeedsFeeds, NeedsHost, NeedsStage, Step
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, symbol
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files.signature import BoundFunction
from staticgraph.runtime.host_ops.planned_run import PlannedRun, PlannedStage, StageMade
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.variables import VariableStore
from staticgraph.runtime.step_compiler import StepCompiler

NO_TYPES: Mapping[Operation, TensorType | None] = MappingProxyType({})
MOST_PROGRAMS = 8  # of one step, for sizes with other guards


def stages_of(
    bound: BoundFunction, feeds: tuple[Tensor, ...], shapes: OpenShapes, target: CpuTarget
) -> tuple[set[Operation], list[PlannedStage]] | None:
    """Return the stages of a function, with their programs for a processor.

    Args:
        bound: The function.
        feeds: What a call gives.
        shapes: The shapes of these.
        target: The processor.

    Returns:
        The host ops that must be called first, and the stages; None if they cannot be told without data.
    """
    run = planned_run(Fetches(bound.graph, bound.fetches), feeds, target)
    with loops_as_they_are(bound.graph):
        return run.stages(types_of(feeds, shapes))


def planned_run(
    fetches: Fetches,
    feeds: tuple[Tensor, ...],
    target: CpuTarget,
    variables: Mapping[Operation, TensorType | None] = NO_TYPES,
) -> PlannedRun:
    """Return a run whose stages are compiled for a processor.

    Args:
        fetches: What the run computes and does.
        feeds: What it is fed.
        target: The processor.
        variables: The types of variables that the graph does not tell.
    """
    whole = ProgramCache(fetches.graph, fetches, feeds, StepCompiler(CpuBackend()), VariableStore())

    def make(
        programs: ProgramCache, types: Sequence[TensorType]
    ) -> StageMade | NeedsStage | NeedsHost | None:
        return _stage(programs, types, target, variables)

    return PlannedRun(whole, make)


def types_of(feeds: Sequence[Tensor], shapes: OpenShapes) -> dict[Tensor, TensorType]:
    """Return the types of feeds with these shapes, with None for the sizes that are open."""
    pairs = zip(feeds, shapes.shapes, strict=True)
    return {feed: _known(TensorType(feed.dtype, shape)) for feed, shape in pairs}


def _stage(
    programs: ProgramCache,
    types: Sequence[TensorType],
    target: CpuTarget,
    variables: Mapping[Operation, TensorType | None],
) -> StageMade | NeedsStage | NeedsHost | None:
    """Compile a stage for all sizes of feeds of these types."""
    if any(type.shape is None for type in types):
        return None
    numbers, needs = count(), list[NeedsStage | NeedsHost]()
    start = tuple(
        tuple[AnySize, ...](symbol(f"n{next(numbers)}") if n is None else n for n in type.shape or ())
        for type in types
    )

    def made(shapes: OpenShapes) -> Compiled | NeedsFeeds | None:
        match programs.step(shapes.shapes, shapes.contents_of(programs.feeds), variables):
            case Step() as step:
                compiled = compile(step, target)
                return None if compiled.program.host_calls else compiled
            case NeedsFeeds() as feeds:
                return feeds
            case NeedsStage() | NeedsHost() as other:
                needs.append(other)
        return None

    found = for_all_sizes(OpenShapes(start), programs.feeds, made, MOST_PROGRAMS)
    if needs:
        return needs[0]
    if not isinstance(found, AllSizes) or not found.programs:
        return None
    first = found.programs[0].made
    fetched = [
        *zip(*(each.made.program.results[: first.step.fetches] for each in found.programs), strict=True)
    ]
    if any(len({len(type.static_shape) for type in types}) > 1 for types in fetched):
        return None
    return StageMade(first.step, [_common(types) for types in fetched], found.programs, found.start)


def _common(types: Sequence[TensorType]) -> TensorType:
    """Return the type of what several programs make, with None for the sizes that are open, or differ."""
    shapes = zip(*(_known(type).shape or () for type in types), strict=True)
    return TensorType(types[0].dtype, tuple(sizes[0] if len({*sizes}) == 1 else None for sizes in shapes))


def _known(type: TensorType) -> TensorType:
    """Return a type with None for the sizes that are open."""
    return TensorType(type.dtype, tuple(n if isinstance(n, int) else None for n in type.static_shape))


@contextmanager
def loops_as_they_are(graph: Graph) -> Iterator[None]:
    """Context that forgets which loops turned out to be for Python alone: for sizes that were only tried."""
    known = {op.region: op.region.hosted for op in graph.get_operations() if op.region is not None}
    try:
        yield
    finally:
        for region, hosted in known.items():
            region.hosted = hosted
