"""The kernel of groups that do the same, as those of the layers of a deep net do, is built once.

Groups that differ in numbers alone share a kernel too, if they are many: it loads what otherwise is a part of
its code. So do groups that differ in which rows they read. The same instructions compute the same bits.

    x * 0.1, x * 0.2, x * 0.3, x * 0.4    ->  x * parameter, launched four times
    x[0] + y, x[1] + y, ..., x[9] + y     ->  window[0] + y, launched ten times
    x[:, 0] + y, ..., x[:, 9] + y         ->  the same, as rows of the first two axes
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from staticgraph.compiler import stages
from staticgraph.compiler.fusion.group import Group, has_product
from staticgraph.compiler.fusion.inline_element import Template, template
from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.size_contexts import assumptions
from staticgraph.compiler.graph.sizes import AnySize, is_open, same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, walk
from staticgraph.compiler.kernel.indices.affine import affine
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import sum_of_products
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Kernel
from staticgraph.compiler.lower.kernels import GroupKernel, RowRange, build_kernel, counted, row_bytes
from staticgraph.compiler.lower.program import Launch, Loops, Workspace
from staticgraph.compiler.support.dataclass import dataclass

_NOTHING: Mapping[Value, Value] = MappingProxyType({})
FEW = 3  # kernels that differ in sizes: of fewer, each has its own code
_MANY = 4  # kernels that differ in numbers: fewer are compiled one by one, each with its numbers in its code

Windows = dict[Node, tuple[Template, RowRange]]


@dataclass(frozen=True, slots=True)
class _Known:
    """A group: the number of its structure without numbers, these numbers, and those of its values."""

    structure: int
    numbers: tuple[Hashable, ...]
    values: dict[Value | RowRange, int]
    windows: Windows


@dataclass(slots=True)
class _Variants:
    """Groups of one structure: the numbers that they have, and if these may be parameters.

    Attributes:
        numbers: The numbers of each.
        product: True if they are products of matrices; None before a kernel is built.
        windows: True if they are products also where they read rows that their launches tell.
    """

    numbers: set[tuple[Hashable, ...]] = field(default_factory=set)
    product: bool | None = None
    windows: bool | None = None


class KernelTable:
    """Kernels that `build_kernel` makes of groups, one for all structurally equal groups.

    Args:
        parameters: If kernels may have parameters and windows, as those for a processor may.
    """

    def __init__(self, parameters: bool = False) -> None:
        self._parameters = parameters
        self._expected: list[Group] = []
        self._looked = 0  # at so many of them
        self._alone: tuple[Group, Mapping[Value, Value], GroupKernel] | None = None  # the only kernel so far
        self._known: dict[Group, _Known] = {}
        self._structures: dict[Hashable, int] = {}
        self._variants: dict[int, _Variants] = {}  # by structure
        self._built: dict[Hashable, tuple[Loops | Kernel, tuple[int | Workspace, ...]]] = {}

    def expect(self, groups: Iterable[Group]) -> None:
        """Look at groups whose kernels will be asked for, to see which are alike."""
        if self._parameters:
            self._expected += [group for group in groups if group.is_loops or group.in_pieces]
            if len(self._expected) >= _MANY:  # fewer cannot be many of one structure
                for group in self._expected[self._looked :]:
                    known = self._look(group)
                    self._variants.setdefault(known.structure, _Variants()).numbers.add(known.numbers)
                self._looked = len(self._expected)

    def of(self, group: Group, in_place: Mapping[Value, Value] = _NOTHING) -> GroupKernel:
        """The kernel of `group`. `in_place`: for a stored value, the value whose buffer it overwrites."""
        if not self._known and self._alone is None and len(self._expected) < 2:
            built = build_kernel(group, in_place, in_arena=self._parameters)
            stages.report("build_kernel", group, built.work)
            self._alone = group, in_place, built  # what it is like is looked at when there is another one
            return built
        if self._alone is not None:
            (first, its_places, built), self._alone = self._alone, None
            known = self._look(first)
            self._kernel(first, known, its_places, known.numbers, built=built)
        known = self._look(group)
        variants = self._variants.get(known.structure)
        if variants is None or len(variants.numbers) < _MANY:
            return self._kernel(group, known, in_place, known.numbers)
        if variants.product is None:
            variants.product = _is_product(self._kernel(group, known, in_place, known.numbers).work)
        if not variants.product:
            return self._kernel(group, known, in_place, (), shared=True)
        # A product is computed in tiles, by code of another kind that has no parameters.
        numbers = tuple(n for n in known.numbers if isinstance(n, str))
        if variants.windows is None:  # rows of all axes would hide that an image is padded
            windowed = self._kernel(group, known, in_place, numbers, shared=True)
            variants.windows = _is_product(windowed.work)
        if variants.windows:
            return self._kernel(group, known, in_place, numbers, shared=True)
        return self._kernel(group, known, in_place, known.numbers)

    def launched(self, launch: Launch) -> Launch:
        """Take note of a launch that is in the program. Return it."""
        return launch

    def _look(self, group: Group) -> _Known:
        if group not in self._known:
            made = _Numbers(group, self._parameters)
            structure = self._structures.setdefault(made.structure, len(self._structures))
            self._known[group] = _Known(structure, made.numbers, made.values, made.windows)
        return self._known[group]

    def _kernel(
        self,
        group: Group,
        known: _Known,
        in_place: Mapping[Value, Value],
        numbers: tuple[Hashable, ...],
        shared: bool = False,
        built: GroupKernel | None = None,
    ) -> GroupKernel:
        """The kernel with these numbers in its code. If `shared`, all others are given by its caller.

        It is `built` if that is given and there is none yet.
        """
        values = known.values
        changes = [(values[new], values.setdefault(old, len(values))) for new, old in in_place.items()]
        key = known.structure, shared, numbers, assumptions(), *changes
        if key not in self._built:
            if built is None:
                if shared:
                    given = {v for v in values if isinstance(v, Value) and is_parameter(v)}
                    built = build_kernel(group, in_place, () if numbers else given, known.windows)
                else:
                    built = build_kernel(group, in_place, in_arena=self._parameters)
                stages.report("build_kernel", group, built.work)
            order = tuple([v if isinstance(v, Workspace) else values[v] for v in built.values])
            self._built[key] = built.work, order
            return built
        work, order = self._built[key]
        numbered = [*values]
        return GroupKernel(work, tuple([n if isinstance(n, Workspace) else numbered[n] for n in order]))


def is_parameter(value: Value) -> bool:
    """Return True for a constant that may be a parameter of a kernel: a number that no rule looks at."""
    if value.node.op.name != "constant" or value.rank or value.dtype not in (float32, float64):
        return False
    found = number(value)
    return found is not None and math.isfinite(found) and abs(found) not in (0.0, 1.0)


def _is_product(work: Loops | Kernel) -> bool:
    if isinstance(work, Kernel) or work.rows or sum_of_products(work.nests[0].stores) is None:
        return False
    from staticgraph.compiler.kernel.contraction import analyse  # for graphs with products

    return analyse(work.nests[0].domain, work.nests[0].stores, dict(work.buffers)) is not None


def _window(node: Node, inside: Container[Node]) -> tuple[Template, RowRange] | None:
    """Return the formula of a node over some rows of its input, if these are not all rows."""
    if node.op.kind is not Kind.MOVEMENT or len(node.inputs) != 1:
        return None
    (value,) = node.inputs
    if is_open((*value.shape[1:], *node.outputs[0].shape[1:])) or same(node.outputs[0].size, 0):
        return None
    if not value.rank or value.node in inside or number(value) is not None:
        return None
    formula = template(node)
    if not formula.is_copy:
        return None
    assert isinstance(formula.value, Load)
    at = formula.value.at
    axes = _axes_of_a_part(value, at)
    if not axes:
        return None
    row: Expr = at[0]
    for n, index in zip(value.shape[1:axes], at[1:axes], strict=True):
        row = row * n + index
    form = affine(row)
    assert form is not None
    low, high = form.range
    unit = ALIGNMENT // math.gcd(ALIGNMENT, row_bytes(value, axes))
    start = int(low) // unit * unit
    count: AnySize = math.prod(value.shape[:axes])
    rows = count if is_open((count,)) else int(high) + 1 - start
    if not start and rows == count and not is_open((count,)):
        return None
    load = Load(formula.value.buffer, (simplify_index(row - start), *at[axes:]), formula.value.dtype)
    return Template(formula.at, load, tuple(walk(load))), RowRange(value, axes, start, rows)


def _axes_of_a_part(value: Value, at: Sequence[Expr]) -> int:
    """Return how many axes tell which part of a value lies at `at`: 0 if it is not a part."""
    for axis in reversed(range(value.rank)):
        form, size = affine(at[axis]), value.shape[axis]
        assert form is not None
        if is_open((size,)):
            return 0
        low, high = form.range
        if low < 0 or high >= size:
            return 0
        if (low, high) != (0, size - 1):
            return axis + 1
    return 0


class _Numbers:
    """Numbers instead of nodes and values, in the order in which they are met.

    `numbers` are those that a kernel may be given: as texts, constants; the others say which rows it reads.
    """

    def __init__(self, group: Group, windows: bool) -> None:
        self.values: dict[Value | RowRange, int] = {}
        self.nodes: dict[Node, int] = {}
        self.windows: Windows = {}
        self.constants: list[str] = []
        below = group.nodes
        inside = set(below)
        self.is_product = has_product(group)
        if windows and (group.is_loops or group.in_pieces):
            for node in below:
                if (found := _window(node, inside)) is not None:
                    self.windows[node] = found
        nodes = tuple(map(self.node, below))
        self.structure: Hashable = nodes, self.part(group)  # all else that the kernel of `group` depends on
        seen = [window for _, window in self.windows.values()]
        met = [self.values.setdefault(window.value, len(self.values)) for window in seen]
        places = ((n, w.first, w.value.type) for n, w in zip(met, seen, strict=True))
        self.numbers: tuple[Hashable, ...] = (*self.constants, *places)

    def node(self, node: Node) -> Hashable:
        self.nodes[node] = len(self.nodes)
        if node in self.windows:
            formula, window = self.windows[node]
            seen = self.values.setdefault(window, len(self.values))
            return formula.value, seen, window.shape, window.value.dtype, *map(self.value, node.outputs)
        return node.op, (*node.attrs.items(),), *map(self.value, (*node.inputs, *node.outputs))

    def value(self, value: Value) -> Hashable:
        """The number of a value; when it is met first, what is to be known of it."""
        if value in self.values:
            return self.values[value]
        self.values[value] = len(self.values)
        constant = number(value)
        if constant is not None:
            if is_parameter(value):
                self.constants.append(repr(constant))
                return value.type, "number"
            return value.type, repr(constant)
        if value.constant is None:  # as of nearly all
            return value.type, self.is_product and value.is_fed
        at = tuple(Index(f"i{axis}", n) for axis, n in enumerate(value.shape))
        return value.type, counted(value, at)

    def part(self, group: Group) -> Hashable:
        """A group among the numbered nodes."""
        return (
            self.nodes[group.root],
            frozenset(map(self.nodes.__getitem__, group.members)),
            None if group.assembly is None else self.nodes[group.assembly],
            tuple(map(self.nodes.__getitem__, group.stored)),
            frozenset(map(self.values.__getitem__, group.local)),
            group.domain,
            group.rows,
            tuple(group.summed),
            tuple(map(self.part, group.nests)),
            tuple(map(self.part, group.sums)),
        )
