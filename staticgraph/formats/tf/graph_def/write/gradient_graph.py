"""The graph that derivatives are built in, beside the one that is written as a GraphDef.

Placeholders stand there for tensors of the other graph. What is computed in a loop stands there as a row of
all that the loop kept of it (`kept_rows`), read where the derivative of the loop is in the round of that row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, regions_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.arrays import Arrays, Made
from staticgraph.formats.tf.graph_def.correspondence import pairs
from staticgraph.formats.tf.graph_def.nodes import constant
from staticgraph.formats.tf.graph_def.signatures import signature
from staticgraph.formats.tf.graph_def.write.gradient_rules import NoRule
from staticgraph.formats.tf.graph_def.write.kept_rows import Extra, KeptRows, Source, region_of, type_of


class Writing(Protocol):
    """A GraphDef that is being written."""

    names: set[str]
    stand_ins: dict[Tensor, str]
    arrays: Arrays

    @property
    def kept(self) -> KeptRows:
        """The values that loops store for derivatives."""

    @property
    def has_arrays(self) -> bool:
        """True if loops, branches and tensor arrays are written as such."""

    def port(self, tensor: Tensor, op: Operation) -> str:
        """Return the name by which the node of `op` takes a tensor."""

    def node(
        self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, Any], op: Operation
    ) -> str:
        """Add a node."""

    def unique(self, name: str) -> str:
        """A name that no other node has."""

    def write(self, op: Operation) -> None:
        """Add the node of an operation, after those that only serve it."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Place where the derivatives of the operations of a loop or a branch are built.

    Attributes:
        built: The region in which they are built.
        row: The number of the row that holds the values of the iteration.
        received: The accumulated gradients of the arrays that a loop carries.
    """

    built: Region
    row: Tensor
    received: Mapping[Made, Tensor]


@dataclass(frozen=True, eq=False, slots=True)
class _Raw:
    """A node of TensorFlow's that there is no op for here, and what stands for its outputs."""

    type: str
    name: str
    inputs: tuple[Tensor, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Tensor, ...]

    def port(self, tensor: Tensor) -> str:
        at = self.outputs.index(tensor)
        return f"{self.name}:{at}" if at else self.name


class GradientGraph:
    """Graph in which the derivatives of one gradients operation are built."""

    def __init__(self, writer: Writing, op: Operation) -> None:
        self.writer = writer
        self.op = op
        self.scratch = Graph()
        for name in writer.names:
            self.scratch.names.take(name)
        self._raw: dict[Operation, _Raw] = {}  # by what stands for each of the outputs
        self._known: dict[tuple[Source, Region | None], Tensor] = {}
        self._outside: dict[Tensor, Source] = {}  # what stands for a source outside of all loops
        self._rows: dict[Tensor, tuple[Source, TensorType]] = {}  # what stands for all rows of one inside
        self._reads: set[Operation] = set()  # those that read a row
        self._places: dict[Region, _Place] = {}

    def value(self, source: Source) -> Tensor:
        """Return the tensor that stands for a source in the graph of the derivatives."""
        if isinstance(source, Tensor) and source.graph is self.scratch:
            return source
        region = region_of(source)
        if region is not None and region not in self._places:
            raise NoRule(f"its derivatives need a value from a loop or a branch elsewhere: {source}")
        place = None if region is None else self._places[region]
        key = source, None if place is None else place.built
        if key not in self._known:
            with self.scratch.inside(key[1]):
                made = self._constant(source)
                self._known[key] = self._read(source, place) if made is None else made
        return self._known[key]

    def _constant(self, source: Source) -> Tensor | None:
        """Return a copy of a constant whose value may be needed here, such as a shape.

        Numbers that another derivative may be taken by are not copied, or nothing would lead back to them.
        """
        if not isinstance(source, Tensor) or source.op.definition.name != "constant":
            return None
        inside, size = source.op.region is not None, source.type.size
        small = size is not None and size <= 16 and not source.dtype.is_differentiable
        if not (inside or small) or static_value(source) is None:
            return None
        made: Tensor = ops.constant(value=source.op.attrs["value"])
        return made

    def _read(self, source: Source, place: _Place | None) -> Tensor:
        type = type_of(source)
        if place is None:
            made = self._stand_in(type)
            self._outside[made] = source
            return made
        if isinstance(source, Tensor) and self.is_array(source):
            raise NoRule(f"{source.op.name} is a tensor array in a loop, and is used as a whole there")
        with self.scratch.inside(None):
            rows = self._stand_in(TensorType(type.dtype, None if type.shape is None else (None, *type.shape)))
        self._rows[rows] = source, type
        row: Tensor = ops.gather(rows, place.row, axis=0)
        self._reads.add(row.op)
        return row

    def _stand_in(self, type: TensorType) -> Tensor:
        made: Tensor = ops.placeholder(dtype=type.dtype, shape=type.shape, name="value")
        return made

    def is_array(self, tensor: Tensor) -> bool:
        """Return True if a tensor is a tensor array, and not its rows."""
        return self.writer.has_arrays and self.writer.arrays.of(tensor) is not None

    def like(self, tensor: Tensor) -> Tensor:
        """Something of the shape of a tensor."""
        made = self.writer.arrays.of(tensor)
        region = tensor.op.region if tensor.graph is not self.scratch else None
        for each in () if region is None else region.around:
            if made is not None and each in self._places and made in self._places[each].received:
                return self._places[each].received[made]
        return self.value(tensor)

    @property
    def row(self) -> Tensor:
        """The number of the rows that are read where derivatives are being built."""
        here = [each.row for each in self._places.values() if each.built is self.scratch.region]
        return here[0] if here else constant(0, int32)

    @contextmanager
    def within(
        self, region: Region, built: Region, row: Tensor, received: Mapping[Tensor, Tensor]
    ) -> Iterator[None]:
        """Context in which derivatives of operations of `region` are built, in the region `built`."""
        arrays = {made: g for t, g in received.items() if (made := self.writer.arrays.of(t)) is not None}
        self._places[region] = _Place(built, row, arrays)
        yield
        del self._places[region]

    def node(
        self, type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """A node of TensorFlow's that there is no op for here; what its outputs are."""
        name = self.scratch.unique_name(type)
        made = [self._stand_in(each) for each in outputs]
        raw = _Raw(type, name, tuple(inputs), attrs, tuple(made))
        self._raw.update((each.op, raw) for each in made)
        return made

    def forward(self, op: Operation, at: int, type: TensorType) -> Tensor:
        """An output that only TensorFlow's node of `op` has."""
        return self.value(Extra(op, at, type))

    def attributes(self, op: Operation, type: str) -> dict[str, Any]:
        """The attributes of TensorFlow's node of `op` that nodes of another type have too."""
        together, told = pairs(op.definition), signature(type)
        assert together is not None and told is not None
        return {attr.name: op.attrs[p.name] for attr, p in together.attrs if attr.name in told.attrs}

    # Nodes

    def write(self, found: Sequence[Tensor]) -> list[str]:
        """Add the nodes of what was built and is needed; how those of others name what was `found`."""
        writer, needed = self.writer, self._needed(found)
        for op in needed:
            tensor = op.outputs[0]
            if tensor in self._outside:
                writer.stand_ins[tensor] = self._port(self._outside[tensor])
            elif tensor in self._rows:
                array = writer.kept.array(*self._rows[tensor])
                writer.arrays.let(tensor, array)
                writer.stand_ins[tensor] = array.flow
            elif op in self._raw:
                writer.stand_ins[tensor] = self._raw[op].port(tensor)
        built = [op for op in needed if op.outputs[0] not in writer.stand_ins]
        raws = dict.fromkeys(self._raw[op] for op in needed if op in self._raw)
        writer.names.update([op.name for op in built], [raw.name for raw in raws])
        for op in built:
            writer.write(op)
        for raw in raws:
            at = raw.outputs[0].op
            writer.node(raw.type, raw.name, [writer.port(t, at) for t in raw.inputs], raw.attrs, at)
        return [writer.port(t, self.op) for t in found]

    def _port(self, source: Source) -> str:
        if isinstance(source, Tensor):
            return self.writer.port(source, self.op)
        return self.writer.kept.port(source)

    def _needed(self, found: Sequence[Tensor]) -> list[Operation]:
        """The operations that were built and are needed, in order."""
        seen: set[Operation] = set()
        stack = [t.op for t in found]
        while stack:
            op = stack.pop()
            if op in seen:
                continue
            seen.add(op)
            used: Sequence[Tensor] = self._raw[op].inputs if op in self._raw else op.all_inputs
            if op in self._reads:  # whose nodes have no axis
                used = op.tensors
            if inside := regions_of(op):  # what those capture is found in them
                used = op.tensors[: max(1, len(inside[0].params))]
                used = (*used, *(t for region in inside for t in (*region.params, *region.results)))
            stack += [t.op for t in used]
        return sorted(seen, key=lambda each: each.id)
