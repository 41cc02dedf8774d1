"""Groups of nodes: the elements that they read of each other, and what it costs to compute an element again.

Costs are counted in additions of vectors (`kernel/cost.py`). Storing a value costs a store, and a load at
each use. In a buffer of the whole array, that is a trip to memory. In a buffer of one row, which stays in the
cache, that costs a few instructions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from itertools import filterfalse
from operator import attrgetter
from typing import NamedTuple

from staticgraph.compiler.fusion.inline_element import (
    TEMPLATE_LIMIT,
    IndexNumbering,
    Position,
    Template,
    body_can_split,
    pieces,
    template,
)
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.function import RESHAPES, Function, Node, Value, lacks_sizes
from staticgraph.compiler.graph.opdef import Effect, Kind
from staticgraph.compiler.graph.sizes import estimate, same, several
from staticgraph.compiler.kernel.cost import operation_cost
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, Scalar, free_indices
from staticgraph.compiler.support.dataclass import dataclass

MEMBER_LIMIT = 96  # nodes per kernel: beyond it code no longer fits the caches that make fusion pay
_USUAL_INPUTS = 3  # of a node: one with more counts as several


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that one kernel computes: `root` and the members merged into it.

    The kernel stores the outputs of the root, and those of `stored`: members that others need too.

    A kernel of rows does the work of several groups for one row, then for the next: that of `nests` first,
    in order, then its own. All have the first `rows` axes of their domains in common. Values in `local` are
    needed in their row only. Groups in `sums` have reductions over all rows, to which each row adds its part.
    """

    root: Node
    members: set[Node] = field(default_factory=set)
    domain: tuple[Index, ...] = ()
    fresh: IndexNumbering = field(default_factory=IndexNumbering)
    contraction: Node | None = None
    assembly: Node | None = None  # a member: the loops go over its pieces, and do the group's work on each
    summed: list[tuple[Index, ...]] = field(default_factory=list)  # the axes of each reduction
    depths: list[int] = field(default_factory=list)  # of loops over `domain` that each reduction is inside of
    stored: list[Node] = field(default_factory=list)
    nests: list[Group] = field(default_factory=list)
    sums: list[Group] = field(default_factory=list)
    rows: int = 0
    local: set[Value] = field(default_factory=set)

    @property
    def position(self) -> Position:
        """The element that one pass through the loops is at; 0 along axes of size one, where views say 0."""
        return position(self.domain)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values that the kernel stores for others."""
        if not (self.nests or self.sums or self.stored or self.local):
            return self.root.outputs
        made: dict[Value, None] = {}
        for part in (*self.nests, *self.sums):
            made |= dict.fromkeys(part.outputs)
        for node in (*self.stored, self.root):
            made |= dict.fromkeys(node.outputs)
        return tuple(filterfalse(self.local.__contains__, made))

    @property
    def reduces(self) -> bool:
        """True if the kernel contains a reduction that is not a product."""
        return bool(self.summed)

    @property
    def in_pieces(self) -> bool:
        """True if the loops go over the pieces of an assembly."""
        return self.assembly is not None or self.root.op.pieces is not None

    @property
    def most_rows(self) -> int:
        """Greatest number of leading axes that may be rows. More would repeat a reduction that rows share."""
        return min(self.depths, default=len(self.domain))

    @property
    def row_axes(self) -> tuple[Index, ...]:
        """The axes that the rows of a kernel of rows are counted by."""
        return (self.summed[0] if self.only_sums else self.domain)[: self.rows]

    @property
    def only_sums(self) -> bool:
        """True if the rows do nothing but add to the group's own sums."""
        return any(part.root is self.root for part in self.sums)

    @property
    def is_loops(self) -> bool:
        """True if the kernel consists of loops over `domain` for every element of its outputs."""
        plain = self.root.op.element is not None and self.assembly is None
        return plain and not is_alias(self.root) and not is_whole(self.root)

    @property
    def nodes(self) -> list[Node]:
        """All nodes of the group, inputs before users."""
        if not (self.members or self.nests or self.sums):
            return [self.root]
        found = {self.root, *self.members}
        for part in (*self.nests, *self.sums):
            found.update(part.nodes)
        return sorted(found, key=attrgetter("serial"))


@lru_cache(TEMPLATE_LIMIT)
def position(domain: tuple[Index, ...]) -> Position:
    """The element that one pass through loops over `domain` is at, as of `Group.position`."""
    return tuple([Const(0, int64) if same(index.extent, 1) else index for index in domain])


class Demand(NamedTuple):  # which Python hashes by itself: there are tens of thousands
    """A position at which a group wants an element, and whether it must be a plain element of a buffer.

    A position of None: the group wants the whole buffer.
    """

    at: Position | None
    operand: bool = False


Demands = dict[Value, dict[Group, dict[Demand, None]]]  # what each group wants of each value


@dataclass(frozen=True, slots=True)
class Fusion:
    """A partition of a Function. `groups` are in an order in which they can run.

    `apart` tells of nodes that a kernel stores why those that read them do not compute them.
    """

    function: Function
    groups: tuple[Group, ...]
    apart: Mapping[Node, str] = field(default_factory=dict)

    def group_of(self, value: Value) -> Group | None:
        """The group whose kernel stores `value`; None for params and constants."""
        return next((g for g in self.groups if value in g.outputs), None)


def amount(nodes: Iterable[Node]) -> int:
    """Return the number of nodes, as it is compared with the limit."""
    return sum([1 if (n := len(node.inputs)) < 2 * _USUAL_INPUTS else n // _USUAL_INPUTS for node in nodes])


def is_alias(node: Node) -> bool:
    """Return True if a node only gives a buffer another shape or name. As a root, it needs no kernel."""
    return node.op.name in _ALIASES


_ALIASES = RESHAPES | {"barrier"}


def has_product(group: Group) -> bool:
    """Return True if a group computes sums of products."""
    return any(node.op.kind is Kind.CONTRACTION for node in group.nodes)


def is_host(node: Node) -> bool:
    """Return True if a node is computed by its NumPy meaning.

    Such a node has no native form, one that must know a size that is open, or one of complex numbers that has
    no formula for their parts.
    """
    op = node.op
    if op.effect is Effect.CONTROL or op.name in _ALIASES:
        return False
    if not (op.element or op.pieces or op.statements) or (op.closed and lacks_sizes(node)):
        return True
    for value in (*node.inputs, *node.outputs):
        if value.type.dtype.is_complex:
            return not _has_parts(node)
    return False


def _has_parts(node: Node) -> bool:
    """Return True if kernels compute the parts of the complex numbers of a node."""
    from staticgraph.compiler.kernel.complex_numbers.split import can_split

    if node.op.element is not None and node.op.kind is not Kind.CONTRACTION:
        return can_split(template(node).order)
    if node.op.pieces is not None:
        return all(can_split(formula.order) for _, formula in pieces(node))
    return node.op.statements is not None and body_can_split(node)


def is_collective(node: Node) -> bool:
    """Return True if a node is an exchange among several processes."""
    return node.op.effect is Effect.EXCHANGE and node.attrs["workers"] > 1


def is_control(node: Node) -> bool:
    """Return True if a node is a loop or a branch."""
    return node.op.effect is Effect.CONTROL


def is_whole(node: Node) -> bool:
    """Return True if a node takes and gives whole buffers, and is not computed by a kernel.

    Such a node may fail or be stopped while it runs.
    """
    return node.op.effect is Effect.CONTROL or is_host(node)


KEPT_IN_ROW = 3  # of a store, and a load per use, in the cache
LEAST_ROW = 8  # elements: shorter rows leave most lanes of a vector without work
FEW_ROWS, LONG_ROW = 16, 1 << 15  # fewer rows of more elements would leave threads without work
LONG_ENOUGH = 32  # elements: whole arrays with shorter rows had better be gone through without regard to rows
WIDE = 128  # columns: the sums of fewer stay in registers while their rows go by


@lru_cache(TEMPLATE_LIMIT)
def cost(formula: Template) -> float:
    """The cost of one element, its inputs being there."""
    return sum([operation_cost(e.op) for e in formula.order if isinstance(e, Scalar) and not _is_index(e)])


@lru_cache(TEMPLATE_LIMIT)
def reduces(formula: Template) -> bool:
    """Return True if an element is a reduction of many elements, such as a sum."""
    return Reduce in map(type, formula.order)


def cheap_nodes(function: Function) -> frozenset[Node]:
    """The nodes of which an element is computed again with less effort than it takes to keep it.

    It is made of few instructions, those of nodes that are cheap themselves included, from one large value.
    """
    efforts: dict[Value, tuple[float, Collection[Value]]] = {}  # instructions, and the large values they read
    elements = _Elements()
    for node in function.nodes:
        if node.op.element is None or reduces(formula := template(node)):
            continue
        value = node.outputs[0]
        effort, large = cost(formula), frozenset[Value]()
        for read in node.inputs:
            # A read that takes about as long as one of the result: elements repeat little.
            if 8 * elements[read] > elements[value]:
                before, values = efforts.get(read, (0, (read,)))
                effort, large = effort + before, large.union(values)
        if effort <= KEPT_IN_ROW and len(large) <= 1:
            efforts[value] = effort, large
    return frozenset([value.node for value in efforts])


class _Elements(dict[Value, int]):
    """About how many elements each value has; 0 for a single one."""

    def __missing__(self, value: Value) -> int:
        size = value.size
        found = self[value] = estimate(size) if several(size) else 0
        return found


def work(at: Position, domain: tuple[Index, ...]) -> int:
    """Return how often a kernel computes an expression that reads these indices.

    The expression is placed in the outermost loop that it can be in.
    """
    bound = estimate(math.prod(index.extent for index in _free(at) if index not in domain))
    return estimate(math.prod(index.extent for index in domain[: depth(at, domain)])) * bound


def depth(at: Position, domain: tuple[Index, ...]) -> int:
    """Return how many loops over `domain`, from the outermost on, an expression of these indices is in.

    They go down to the innermost loop that changes the expression. Loops of one iteration that follow change
    nothing and are counted too.
    """
    free = _free(at)
    found = max((i + 1 for i, index in enumerate(domain) if index in free), default=0)
    return next((i for i in range(found, len(domain)) if not same(domain[i].extent, 1)), len(domain))


def _free(at: Position) -> frozenset[Index]:
    return frozenset().union(*map(free_indices, at)) if at else frozenset()


def shared_rows(domain: tuple[Index, ...], own: Position, positions: Iterable[Position]) -> int:
    """Return the number of rows: leading axes of `domain` that all `positions` have in common.

    `own` is the position of the kernel itself.
    """
    rows = len(domain)
    for at in positions:
        same = (a is b for a, b in zip(at, own[:rows], strict=False))
        rows = next((d for d, equal in enumerate(same) if not equal), min(rows, len(at)))
    return rows


def goes_down(at: Position, axes: tuple[Index, ...]) -> bool:
    """Return True if a sum over `axes` that reads the position `at` goes down the columns of an array."""
    return len(at) > 1 and at[0] is axes[0] and at[-1] not in axes


def worth_rows(shape: tuple[int, ...], rows: int) -> bool:
    """Return True if the first `rows` axes are several rows, each long enough for loops of its own."""
    return several(math.prod(shape[:rows])) and estimate(math.prod(shape[rows:])) >= LEAST_ROW


def _is_index(e: Expr) -> bool:
    return e.dtype.name == "int64" and not any(isinstance(c, Load) for c in e.children)


def flops(nodes: Iterable[Node]) -> int:
    """Return the floating-point operations of products, in all iterations of loops of known trip count."""
    total = 0
    for node in nodes:
        if node.op.kind is Kind.CONTRACTION:
            summed = (e.axes for e in template(node).order if isinstance(e, Reduce))
            extents = math.prod(axis.extent for axes in summed for axis in axes)
            total += 2 * estimate(node.outputs[0].size * extents)
        elif node.op.name == "loop" and node.attrs["exact"]:
            total += estimate(node.attrs["bound"]) * flops(node.attrs["body"].nodes)
    return total
