"""A fused group as a kernel: pull one element of the root through the group's nodes down to buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, walk
from staticgraph.compiler.kernel.index import simplify_index
from staticgraph.compiler.kernel.place import place
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.ops.kinds import Out, View
from staticgraph.compiler.passes.group import Group
from staticgraph.compiler.passes.pull import Fresh, Position, instantiate, pieces, template


@dataclass(frozen=True, slots=True)
class GroupKernel:
    """A kernel, and the values that its buffers hold: one per buffer, in order."""

    work: Loops | Kernel
    values: tuple[Value, ...]


def build_kernel(group: Group, in_place: Mapping[Value, Value] | None = None) -> GroupKernel:
    """The kernel of `group`. `in_place`: for a stored value, the value whose buffer it overwrites.

    Buffers and indices are numbered in order of use, so that groups of equal structure give equal kernels.
    """
    puller = _Puller(group, in_place or {})
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
    in_place: Mapping[Value, Value]
    values: list[Value] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    fresh: Fresh = field(default_factory=Fresh)
    done: dict[tuple[Value, Position], Expr] = field(default_factory=dict)

    def loops(self, root: Node) -> Loops:
        at = self.group.position
        nodes = (*self.group.stored, root)
        elements = [self.element(node.outputs[0], at) for node in nodes]
        stores = tuple(
            Store(self.output(node.outputs[0]), at, element)
            for node, element in zip(nodes, elements, strict=True)
        )
        return Loops(self.group.domain, stores, tuple(self.buffers.items()))

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
        if node not in self.group.members and node is not self.group.root:
            return self._load(value, at)
        key = value, at
        if key not in self.done:
            self.done[key] = self.computed(node, at)
        return self.done[key]

    def computed(self, node: Node, at: Position) -> Expr:
        return instantiate(
            template(node), at, self.fresh, lambda n, where: self.element(node.inputs[n], where)
        )

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
        if value in self.in_place:
            name = self.input(self.in_place[value])
            self.buffers[name] = Buffer(value.dtype, value.shape, written=True)
            self.values[int(name[1:])] = value
            return name
        return self._buffer(value, written=True)

    def _buffer(self, value: Value, written: bool) -> str:
        name = f"b{len(self.values)}"
        self.values.append(value)
        self.buffers[name] = Buffer(value.dtype, value.shape, written)
        return name


def updates_in_place(group: Group, new: Value, old: Value, base: Callable[[Value], Value]) -> bool:
    """Whether `new` may overwrite `old`: the kernel reads
    each element of it only where it stores the same element.

    `base` gives the value whose buffer holds another one, such as a reshape of `old`.
    """
    if not group.is_loops or old.type != new.type:
        return False
    made = build_kernel(group)
    assert isinstance(made.work, Loops)
    names = {f"b{i}" for i, v in enumerate(made.values) if base(v) is old}
    everything = walk(*(store.value for store in made.work.stores))
    summed = {e for r in everything if isinstance(r, Reduce) for e in walk(r.value)}
    mine = [e for e in everything if isinstance(e, Load) and e.buffer in names]
    return all(load.at == group.position and load not in summed for load in mine)
