"""A fused group as a kernel: pull one element of the root through the group's nodes down to buffers."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Callable
from dataclasses import dataclass, field

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, walk
from staticgraph.compiler.kernel.index import simplify_index
from staticgraph.compiler.kernel.place import place
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.ops.kinds import Out, View
from staticgraph.compiler.passes.fuse import Group
from staticgraph.compiler.passes.pull import Fresh, Position, instantiate, pieces, template


@dataclass(frozen=True, slots=True)
class GroupKernel:
    """A kernel, and the values that its buffers hold: one per buffer, in order."""

    work: Loops | Kernel
    values: tuple[Value, ...]


def build_kernel(group: Group, in_place: Value | None = None) -> GroupKernel:
    """The kernel of `group`. Where `in_place` is given, the root overwrites the buffer of that value.

    Buffers and indices are numbered in order of use, so that groups of equal structure give equal kernels.
    """
    puller = _Puller(group, in_place)
    root = group.root
    if root.op.pieces is not None:
        work: Loops | Kernel = puller.assembly(root)
    elif root.op.element is not None:
        work = puller.loops(root)
    else:
        work = puller.routine(root)
    return GroupKernel(work, tuple(puller.values))


@dataclass(slots=True)
class _Puller:
    group: Group
    in_place: Value | None
    values: list[Value] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    fresh: Fresh = field(default_factory=Fresh)
    done: dict[tuple[Value, Position], Expr] = field(default_factory=dict)

    def loops(self, root: Node) -> Loops:
        value = root.outputs[0]
        at = self.group.domain
        stored = self.computed(root, at)
        return Loops(at, (Store(self.output(value), at, stored),), tuple(self.buffers.items()))

    def assembly(self, root: Node) -> Kernel:
        out = self.output(root.outputs[0])
        body = []
        for count, (piece, formula) in enumerate(pieces(root)):
            at = tuple(Index(f"p{count}_{d}", n) for d, n in enumerate(piece.shape))
            value = instantiate(formula, at, self.fresh, lambda n, where: self.element(root.inputs[n], where))
            step = piece.step or (1,) * len(at)
            target = tuple(simplify_index(o + s * i) for o, s, i in zip(piece.offset, step, at, strict=True))
            body.append(place("piece", self.buffers, at, (Store(out, target, value),)).body)
        return Kernel("assembly", dict(self.buffers), tuple(stmt for part in body for stmt in part))

    def routine(self, root: Node) -> Kernel:
        assert root.op.statements is not None, root
        views = [View(v.shape, v.dtype, self._reader(v)) for v in root.inputs]
        outs = tuple(Out(self.output(v), v.shape, v.dtype) for v in root.outputs)
        body = root.op.statements(outs, *views, **root.attrs)
        return Kernel(root.op.name, dict(self.buffers), tuple(body))

    def element(self, value: Value, at: Position) -> Expr:
        """One element of any value that the group reads or computes."""
        node = value.node
        if node not in self.group.members:
            return self._load(value, at)
        key = value, at
        if key not in self.done:
            self.done[key] = self.computed(node, at)
        return self.done[key]

    def computed(self, node: Node, at: Position) -> Expr:
        return instantiate(template(node), at, self.fresh, lambda n, where: self.element(node.inputs[n], where))

    def _load(self, value: Value, at: Position) -> Expr:
        constant = number(value)
        if constant is not None:
            return Const(constant, value.dtype)
        return Load(self.input(value), tuple(simplify_index(e) for e in at), value.dtype)

    def _reader(self, value: Value) -> Callable[[Position], Expr]:
        return lambda at: self._load(value, at)

    def input(self, value: Value) -> str:
        if value not in self.names:
            self.names[value] = self._buffer(value, written=False)
        return self.names[value]

    def output(self, value: Value) -> str:
        if self.in_place is not None:
            name = self.input(self.in_place)
            self.buffers[name] = Buffer(value.dtype, value.shape, written=True)
            self.values[int(name[1:])] = value
            return name
        return self._buffer(value, written=True)

    def _buffer(self, value: Value, written: bool) -> str:
        name = f"b{len(self.values)}"
        self.values.append(value)
        self.buffers[name] = Buffer(value.dtype, value.shape, written)
        return name


def updates_in_place(group: Group, old: Value, base: Callable[[Value], Value]) -> bool:
    """Whether the root may overwrite `old`: each element of it is read only where the same element is written.

    `base(value)`: the value whose buffer holds `value`; `old` itself where that is `old` in another shape.
    """
    if group.root.op.element is None or old.type != group.root.outputs[0].type:
        return False
    work = build_kernel(group)
    assert isinstance(work.work, Loops)
    if any(base(v) is old and v is not old for v in work.values):
        return False  # read at positions that cannot be compared
    name = next((f"b{i}" for i, v in enumerate(work.values) if v is old), None)
    if name is None:
        return True
    at = tuple(Const(0, int64) if i.extent == 1 else i for i in group.domain)
    everything = walk(work.work.stores[0].value)
    summed = {e for r in everything if isinstance(r, Reduce) for e in walk(r.value)}
    mine = [e for e in everything if isinstance(e, Load) and e.buffer == name]
    return all(load.at == at and load not in summed for load in mine)
