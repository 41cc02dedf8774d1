"""Values that a loop stores for its derivative: a tensor array for each value, with a row per iteration.

No loop runs twice for that: the nodes that write a value are added to the loop itself. Random numbers are
drawn, and effects take place, as often as without the derivative.

    kept: an array -> Enter -> Merge -> Switch -> TensorArrayWrite(., row, value) -> NextIteration -> Merge
                                               -> Exit, which the derivative reads

The rows of a loop are numbered from its first iteration on. The numbers continue when the loop runs again in
another iteration of a loop around it, so one array is enough at any depth. A value that a branch computes is
in the row of the iteration that the branch belongs to. If that iteration takes the other side, the row stays
empty, and nothing reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from staticgraph.compiler.graph.dtypes import DType, float32, int32
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.round_counts import RoundCount, round_count
from staticgraph.formats.tf.graph_def.write.control_flow import RESOURCE, ControlFlow, Nodes


@dataclass(frozen=True, slots=True)
class Rounds:
    """Number of iterations that a loop has run in all: before or, if `after`, after one execution."""

    body: Region
    after: bool

    @property
    def region(self) -> Region | None:
        return self.body.parent


@dataclass(frozen=True, slots=True)
class Extra:
    """An output that only TensorFlow's node of an operation has."""

    op: Operation
    at: int
    type: TensorType

    @property
    def region(self) -> Region | None:
        return self.op.region


Source = Tensor | Rounds | Extra  # what a derivative may need


def region_of(source: Source) -> Region | None:
    """The part of the graph that something is computed in."""
    return source.op.region if isinstance(source, Tensor) else source.region


def type_of(source: Source) -> TensorType:
    """Return the type that a source has in each iteration."""
    return TensorType(int32, ()) if isinstance(source, Rounds) else source.type


@dataclass(frozen=True, slots=True)
class KeptArray:
    """A tensor array of rows, and the flow with all of them written."""

    name: str
    flow: str
    region: None = None


class Writing(Nodes, Protocol):
    """A GraphDef that is being written."""

    def constant(self, value: Any, dtype: DType, name: str, op: Operation) -> str:
        """Add a constant that serves `op`."""


@dataclass(slots=True)
class _Count:
    """The ports of a number of rounds: before and after the loop, beside it; and where a round begins."""

    before: str = ""
    here: str = ""
    after: str = ""


class KeptRows:
    """The arrays of a graph that is being written."""

    def __init__(self, writer: Writing, flow: ControlFlow) -> None:
        self._writer = writer
        self._flow = flow
        self._arrays: dict[Source, KeptArray] = {}
        self._counts: dict[Region, _Count] = {}  # by body
        self._sizes: dict[tuple[Operation, ...], str | None] = {}  # by loops, the outermost first

    def array(self, source: Source, type: TensorType) -> KeptArray:
        """The rows of what is computed in a loop or a branch."""
        if source not in self._arrays:
            self._arrays[source] = self._kept(source, type)
        return self._arrays[source]

    def port(self, source: Source) -> str:
        """Return the name by which nodes in the same region take a source."""
        match source:
            case Rounds():
                count = self._count(source.body)
                return count.after if source.after else count.before
            case Extra():
                return f"{source.op.name}:{source.at}"
        return self._flow.port(source, source.op.region)

    def _kept(self, source: Source, type: TensorType) -> KeptArray:
        region, value = region_of(source), self.port(source)
        path, writer = _path(region), self._writer
        row, op, base = self._row(path), _owner(path[0]), value.replace(":", "_")
        size = self._size(path)
        attrs = {
            "dtype": type.dtype,
            "element_shape": type.shape,
            "dynamic_size": size is None,
            "clear_after_read": False,
        }
        if size is None:
            size = writer.constant(0, int32, f"{base}/rows/size", op)
        name = writer.node("TensorArrayV3", writer.unique(f"{base}/rows"), [size], attrs, op)

        def write(flow: str) -> str:
            handle = self._flow.inside(name, name, None, region, RESOURCE)
            given = [handle, row, value, flow]
            return writer.node(
                "TensorArrayWriteV3", writer.unique(f"{base}/row"), given, {"T": type.dtype}, _owner(path[-1])
            )

        return KeptArray(name, self._flow.thread(path, f"{name}:1", float32, write))

    def _size(self, path: Sequence[Region]) -> str | None:
        """Return the name of the greatest number of rows, or None if it is not clear before the loop.

        In the second case the array must grow.
        """
        loops, op = tuple(_owner(each) for each in path if each.params), _owner(path[0])
        if loops not in self._sizes:
            counts = [round_count(each) for each in loops]
            sizes = [self._rounds(each, op) for each in counts if each is not None]
            size, *rest = sizes or [self._writer.constant(1, int32, f"{op.name}/rows", op)]
            for each in rest:
                size = self._add("Mul", f"{op.name}/rows", size, each, op)
            self._sizes[loops] = None if None in counts else size
        return self._sizes[loops]

    def _rounds(self, count: RoundCount, op: Operation) -> str:
        name = f"{op.name}/rounds"
        start, end, more, zero = (
            self._writer.constant(each, int32, f"{name}/const", op)
            if isinstance(each, int)
            else self._flow.port(each, None)
            for each in (count.start, count.end, count.more, 0)
        )
        rounds = self._add("Sub", name, end, start, op)
        return self._add("Maximum", name, self._add("Add", name, rounds, more, op), zero, op)

    def _add(self, type: str, name: str, first: str, second: str, op: Operation) -> str:
        return self._writer.node(type, self._writer.unique(name), [first, second], {"T": int32}, op)

    def _row(self, path: Sequence[Region]) -> str:
        """The number of the row that is written in the last region of a path, as nodes there name it."""
        loop = next((each for each in reversed(path) if each.params), None)
        if loop is not None:
            row = self._count(loop).here
        else:
            row = self._writer.constant(0, int32, f"{_owner(path[0]).name}/row", _owner(path[0]))
        return self._flow.inside(f"row {row}", row, loop, path[-1], int32)

    def _count(self, body: Region) -> _Count:
        if body not in self._counts:
            self._counts[body] = count = _Count()
            *path, _ = _path(body)
            owner, writer = _owner(body), self._writer
            zero = writer.constant(0, int32, f"{owner.name}/rounds", _owner((*path, body)[0]))

            def add_round(here: str) -> str:
                count.here, name = here, f"{owner.name}/round"
                one = writer.constant(1, int32, f"{name}/one", body.params[0].op)
                return self._add("Add", name, here, one, owner)

            def run(before: str) -> str:
                count.before = before
                count.after = self._flow.thread([body], before, int32, add_round)
                return count.after

            self._flow.thread(path, zero, int32, run)
        return self._counts[body]


def _path(region: Region | None) -> list[Region]:
    """The regions that lead to one, outermost first."""
    return [] if region is None else region.around[::-1]


def _owner(region: Region) -> Operation:
    assert region.owner is not None
    return region.owner
