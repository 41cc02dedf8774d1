"""Result of fusion: groups of nodes, and the elements that they read of each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from itertools import filterfalse
from operator import attrgetter
from typing import NamedTuple

from staticgraph.compiler.fusion.inline_element import (
    TEMPLATE_LIMIT,
    IndexNumbering,
    Position,
    body_can_split,
    pieces,
    template,
)
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.function import RESHAPES, Function, Node, Value, lacks_sizes
from staticgraph.compiler.graph.opdef import Effect, Kind
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel.expr import Const, Index
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
