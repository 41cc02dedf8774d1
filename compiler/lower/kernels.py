"""A fused group as a kernel: pull one element of the root through the group's nodes down to buffers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

import numpy as np

from staticgraph.compiler.fusion.group import Group, has_product
from staticgraph.compiler.fusion.inline_element import (
    IndexNumbering,
    Position,
    Template,
    instantiate,
    pieces,
    statements_of,
    template,
)
from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import InvalidArgumentError, layout
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open, same
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    ScalarParameter,
    loads,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.in_bounds import OutOfBoundsError, in_bounds
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest, Placer
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    Kernel,
    Loop,
    Stmt,
    Store,
    expressions,
    rewrite,
    statements,
    with_buffers,
)
from staticgraph.compiler.lower.program import Loops, Workspace
from staticgraph.compiler.ops.kinds import Out, View, described, scratch_of
from staticgraph.compiler.support.dataclass import dataclass, replace

_NO_WINDOWS: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RowRange:
    """Some rows of a value whose first `axes` axes count as one: `rows` of them, from an aligned address on.

    If a size is open, the last ones may be missing.
    """

    value: Value
    axes: int
    first: int
    rows: AnySize

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, *self.value.shape[self.axes :])

    @property
    def offset(self) -> int:
        """Bytes from the start of the value."""
        return self.first * row_bytes(self.value, self.axes)


def row_bytes(value: Value, axes: int) -> int:
    """Return the bytes of a row of a value whose first `axes` axes count as one."""
    return math.prod(value.shape[axes:]) * value.dtype.size


@dataclass(frozen=True, slots=True)
class GroupKernel:
    """A kernel, and the values that its buffers hold: one per buffer, in order."""

    work: Loops | Kernel
    values: tuple[Value | RowRange | Workspace, ...]


def build_kernel(
    group: Group,
    in_place: Mapping[Value, Value] | None = None,
    parameters: Collection[Value] = (),
    windows: Mapping[Node, tuple[Template, RowRange]] = _NO_WINDOWS,
    in_arena: bool = False,
) -> GroupKernel:
    """The kernel of `group`. `in_place`: for a stored value, the value whose buffer it overwrites.
    `parameters`: the constants that its caller gives. `windows`: for nodes that read some rows of a value,
    their formula over these rows alone. `in_arena`: scratch memory of open sizes is given by its caller, too.

    Buffers and indices are numbered in order of use, so that groups of equal structure give equal kernels.
    """
    puller = _Puller(group, group.local, in_place or {}, parameters, windows)
    root = group.root
    try:
        if group.in_pieces:
            work: Loops | Kernel = puller.assembly(root, group.assembly or root)
        elif root.op.element is not None:
            work = puller.loops()
        else:
            work = puller.routine(root)
        work = _bounded(_split(work))
        spaces: tuple[Workspace, ...] = ()
        scratch = () if isinstance(work, Loops) else (*work.locals.values(), *work.shared.values())
        if in_arena and is_open([buffer.size for buffer in scratch]):
            from staticgraph.compiler.lower.workspace import with_workspaces  # for few kernels

            work, spaces = with_workspaces(work)
        return GroupKernel(work, (*puller.values, *spaces))
    except OutOfBoundsError as error:  # the last resort: a type rule has let them pass
        operands = ", ".join(str(v.type) for v in root.inputs)
        text = f"{root.op.name}({operands}): operands of these sizes do not fit together: {error}"
        hint = "operations with other sizes, or reshape, give each operand the size that the others need"
        raise InvalidArgumentError(layout(text, root.where, hint=hint)) from None


def _split(work: Loops | Kernel) -> Loops | Kernel:
    """`work` with real numbers in the place of complex ones."""
    if not isinstance(work, Loops):
        return work
    buffers = dict(work.buffers)
    if not _are_complex([s for nest in (*work.nests, *work.sums) for s in nest.stores], buffers):
        return work
    from staticgraph.compiler.kernel.complex_numbers.split import split_buffers, split_stores

    nests, sums = (
        tuple(replace(n, stores=split_stores(n.stores)) for n in part) for part in (work.nests, work.sums)
    )
    return replace(work, nests=nests, sums=sums, buffers=tuple(split_buffers(buffers).items()))


def _are_complex(body: Sequence[Stmt], buffers: Mapping[str, Buffer]) -> bool:
    """Return True if statements compute with complex numbers. Few kernels do."""
    if True in [b.dtype.is_complex for b in buffers.values()]:
        return True
    values = walk(*[e for stmt in statements(tuple(body)) for e in expressions(stmt)])
    return True in [e.dtype.is_complex for e in values]


def _bounded(work: Loops | Kernel) -> Loops | Kernel:
    """`work` with every position in its buffer."""
    if isinstance(work, Kernel):
        body = in_bounds(work.body, work.buffers)
        if body is work.body:
            return work
        if work.form is None:
            return replace(work, body=body)
        from staticgraph.compiler.lower.routine_forms import bounded  # few kernels have a form

        return replace(work, body=body, form=bounded(work, work.form))
    buffers = dict(work.buffers)
    nests, sums = (tuple([_bounded_nest(n, buffers) for n in part]) for part in (work.nests, work.sums))
    return replace(work, nests=nests, sums=sums)


def _bounded_nest(nest: Nest, buffers: Mapping[str, Buffer]) -> Nest:
    if any(same(i.extent, 0) for i in nest.domain):
        return nest
    stores: Any = in_bounds(nest.stores, buffers, nest.domain)
    return nest if stores is nest.stores else replace(nest, stores=stores)


@dataclass(slots=True)
class _Puller:
    group: Group  # whose nodes are computed; what else is read lies in buffers
    local: Container[Value]
    in_place: Mapping[Value, Value]
    parameters: Collection[Value]
    windows: Mapping[Node, tuple[Template, RowRange]]
    values: list[Value | RowRange] = field(default_factory=list)
    names: dict[Value | RowRange, str] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    fresh: IndexNumbering = field(default_factory=IndexNumbering)
    done: dict[tuple[Value, Position], Expr] = field(default_factory=dict)
    is_product: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_product = has_product(self.group)

    def loops(self) -> Loops:
        whole = self.group
        in_rows = whole.nests if whole.only_sums else (*whole.nests, whole)
        nests = tuple(self.nest(part, whole.rows) for part in in_rows)
        sums = tuple(self.nest(part, 0) for part in whole.sums)
        rows = tuple(Index(f"i{d}", a.extent) for d, a in enumerate(whole.row_axes))
        return Loops(nests, tuple(self.buffers.items()), rows, sums)

    def nest(self, group: Group, rows: int) -> Nest:
        self.group, at = group, group.position
        self.done.clear()  # what another nest has computed, this one loads
        values = [node.outputs[0] for node in (*group.stored, group.root)]
        elements = [self.element(value, at) for value in values]
        names = [self.scratch(v, rows) if v in self.local else self.output(v) for v in values]
        stores = [
            Store(name, at[rows:] if value in self.local else at, element)
            for name, value, element in zip(names, values, elements, strict=True)
        ]
        return Nest(group.domain, tuple(stores))

    def assembly(self, root: Node, assembled: Node) -> Kernel:
        """The pieces of `assembled`, each with what `root` makes of it."""
        out = self.output(root.outputs[0])
        stores: list[tuple[tuple[Index, ...], Store]] = []
        numbers: dict[tuple[int, ...], int] = {}  # by shape
        covered = sum(math.prod(piece.shape) for piece, _ in pieces(assembled))
        size = assembled.outputs[0].size
        if not _is_whole(covered, size):  # what no piece covers would be what lay there before
            raise OutOfBoundsError(f"its parts have {covered} elements, and its result has {size}")
        for piece, formula in pieces(assembled):
            number = numbers.setdefault(piece.shape, len(numbers))
            at = tuple(Index(f"p{number}_{d}", n) for d, n in enumerate(piece.shape))
            step = piece.step or (1,) * len(at)
            target = tuple(simplify_index(o + s * i) for o, s, i in zip(piece.offset, step, at, strict=True))
            value = instantiate(
                formula, at, self.fresh, lambda n, where: self.element(assembled.inputs[n], where)
            )
            if root is not assembled:
                self.done = {(assembled.outputs[0], self.group.position): value}
                whole = self.computed(root, self.group.position)
                value = substitute(whole, dict(zip(self.group.domain, target, strict=True)))
            stores.append((at, Store(out, target, value)))
        buffers = self.buffers
        if _are_complex([store for _, store in stores], buffers):
            from staticgraph.compiler.kernel.complex_numbers.split import split_buffers, split_stores

            stores = [(at, part) for at, store in stores for part in split_stores((store,))]
            buffers = split_buffers(buffers)
        placer = Placer()  # one for all: no local has the name of another
        nests = _together(stores)
        body = tuple(stmt for nest in map(placer.nest, nests) for stmt in nest)
        from staticgraph.compiler.lower.routine_forms import summing  # of assemblies

        return Kernel("assembly", buffers, body, summing(nests))

    def routine(self, root: Node) -> Kernel:
        assert root.op.statements is not None, root
        outs = tuple(Out(self.output(v), v.shape, v.dtype) for v in root.outputs)
        if self._was_made(root):
            made = statements_of(root)
            body, form = self._in_buffers(root, described(made)[0]), None
        else:
            views = [View(v.shape, v.dtype, self._reader(v)) for v in root.inputs]
            made = root.op.statements(outs, *views, **root.attrs)
            body, form = described(made)
        match first_store(body):
            case Store(target, at, Load(source, where)) if target == source and at == where:
                body = body[1:]  # what is copied lies there already
                if form is not None:
                    from staticgraph.compiler.lower.routine_forms import without_copy

                    form = without_copy(form)
        buffers = {**self.buffers, **scratch_of(made)}
        if not _are_complex(body, buffers):
            return Kernel(root.op.name, buffers, body, form)
        from staticgraph.compiler.kernel.complex_numbers.split import split_body, split_buffers

        split = split_body(body)
        return Kernel(root.op.name, split_buffers(buffers), split, form if split is body else None)

    def _was_made(self, root: Node) -> bool:
        """Return True if the statements of a routine are there, as with complex numbers, and will do."""
        if not any(v.dtype.is_complex for v in (*root.inputs, *root.outputs)):
            return False
        plain = (v.constant is None and v not in self.parameters for v in root.inputs)
        computed = (v.node in self.group.members for v in root.inputs)
        return all(plain) and not any(computed) and described(statements_of(root))[1] is None

    def _in_buffers(self, root: Node, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements of a routine with the buffers of its inputs and outputs."""
        inputs = {f"?{n}": v for n, v in enumerate(root.inputs)}
        outputs = {f"!{n}": self.names[v] for n, v in enumerate(root.outputs)}
        table: dict[Expr, Expr] = {}

        def changed(expr: Expr) -> Expr:
            for load in loads(expr):
                if load not in table:
                    at = tuple([substitute(place, table) for place in load.at])
                    if load.buffer in inputs:
                        table[load] = self._load(inputs[load.buffer], at)
                    elif at != load.at or load.buffer in outputs:
                        table[load] = Load(outputs.get(load.buffer, load.buffer), at, load.dtype)
            return substitute(expr, table) if any(load in table for load in loads(expr)) else expr

        return with_buffers(rewrite(body, changed), outputs)

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
        if node in self.windows:
            formula, window = self.windows[node]
            return instantiate(formula, at, self.fresh, lambda _, where: self._seen(window, where))
        return instantiate(
            template(node), at, self.fresh, lambda n, where: self.element(node.inputs[n], where)
        )

    def _load(self, value: Value, at: Position) -> Expr:
        if value in self.parameters:
            return ScalarParameter(self.input(value), value.dtype)
        constant = number(value)
        if constant is not None:
            return Const(constant, value.dtype)
        if (count := counted(value, at)) is not None:
            return count
        name = self.input(value)
        within = at[len(at) - len(self.buffers[name].shape) :]  # a local buffer holds one row
        return Load(name, tuple(map(simplify_index, within)), value.dtype)

    def _seen(self, window: RowRange, at: Position) -> Expr:
        """One element of a window."""
        dtype = window.value.dtype
        if window not in self.names:
            self.names[window] = f"b{len(self.values)}"
            self.values.append(window)
            self.buffers[self.names[window]] = Buffer(dtype, window.shape)
        return Load(self.names[window], tuple(map(simplify_index, at)), dtype)

    def _reader(self, value: Value) -> Callable[[Position], Expr]:
        return lambda at: self.element(value, at)

    def input(self, value: Value) -> str:
        if value not in self.names:
            self.names[value] = self._buffer(value, written=False)
        return self.names[value]

    def output(self, value: Value) -> str:
        if value in self.in_place:
            name = self.input(self.in_place[value])
            self.buffers[name] = Buffer(value.dtype, value.shape, written=True)
            self.values[int(name[1:])] = value
            self.names[value] = name
        else:
            name = self.names[value] = self._buffer(value, written=True)
        return name

    def scratch(self, value: Value, rows: int) -> str:
        name = self.names[value] = f"row{len(self.buffers) - len(self.values)}"
        self.buffers[name] = Buffer(value.dtype, value.shape[rows:], written=True, local=True)
        return name

    def _buffer(self, value: Value, written: bool) -> str:
        name = f"b{len(self.values)}"
        self.values.append(value)
        unaligned = not written and value.is_fed and self.is_product
        self.buffers[name] = Buffer(value.dtype, value.shape, written, unaligned=unaligned)
        return name


def _together(stores: Iterable[tuple[tuple[Index, ...], Store]]) -> list[Nest]:
    """Stores, given with the domain of each; as one where that is the same, and they read the same."""
    found: list[tuple[tuple[Index, ...], list[Store], set[str]]] = []
    for at, store in stores:
        reads = {e.buffer for e in walk(store.value) if isinstance(e, Load)}
        for domain, others, read in found:
            if domain == at and not reads.isdisjoint(read):
                others.append(store)
                read |= reads
                break
        else:
            found.append((at, [store], reads))
    return [Nest(domain, tuple(others)) for domain, others, _ in found]


def counted(value: Value, at: Position) -> Expr | None:
    """The element of a constant that counts along its axes, such as 0, 1, 2, ..., without memory."""
    array = value.constant
    if array is None or value.rank == 0 or value.size < 2 or not value.dtype.is_integer:
        return None
    if max(-int(array.min()), int(array.max())) >= 1 << 31:  # no positions
        return None
    start = int(array.flat[0])
    wanted = np.array(start)
    place: Expr = Const(start, int64)
    for axis, n in enumerate(array.shape):
        line = array[tuple(slice(None) if d == axis else 0 for d in range(array.ndim))]
        step = int(line[1]) - start if n > 1 else 0
        counts = start + step * np.arange(n)
        if (line != counts).any():
            return None
        wanted = wanted + (counts - start).reshape(-1, *(1,) * (array.ndim - axis - 1))
        place = place + at[axis] * step
    if (array != wanted).any():
        return None
    return cast(simplify_index(place), value.dtype)


def _is_whole(covered: AnySize, size: AnySize) -> bool:
    if same(covered, size) or not isinstance(covered, Size):
        return same(covered, size)
    from staticgraph.compiler.graph.open_sizes import summed_up  # few parts have sizes of this kind

    return same(summed_up(covered), summed_up(size))


def first_store(body: tuple[Stmt, ...]) -> Store | None:
    """The store in the first loops of `body`, if it alone is in them, and is done once for every position.

    Its position is written as views write it, with 0 along axes of size one.
    """
    if not body:
        return None
    first, loops = body[0], []
    while isinstance(first, Loop) and len(first.body) == 1:
        loops.append(first.index)
        first = first.body[0]
    if not isinstance(first, Store) or first.at != tuple(loops):
        return None
    zeros: dict[Expr, Expr] = {i: Const(0, int64) for i in loops if same(i.extent, 1)}
    at = tuple(zeros.get(i, i) for i in loops)
    return Store(first.buffer, at, substitute(first.value, zeros))
