"""Descriptions of the results of some routines, beside the loops that compute them.

Loops fix an order that the result does not need: a running total goes from element to element, and a heap
takes elements one by one. Code for thousands of threads chooses an order of its own. Then sums of
floating-point numbers may be rounded differently.
"""

from __future__ import annotations

import math

from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.stmt import Buffer, Form, Stmt, Store
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Scan(Form):
    """`target` at each position `at`: all items along `axis` up to there, combined.

    `item` is the item at `at`; `combine` is what is made of `left` and `right`, in any order and grouping.
    `reverse`: from the last item on. `first`: without the item itself, and this where nothing is before it.
    """

    target: str
    at: tuple[Index, ...]
    axis: int
    item: Expr
    left: Local
    right: Local
    combine: Expr
    first: Const | None = None
    reverse: bool = False

    @property
    def length(self) -> AnySize:
        """Number of items along the axis."""
        return self.at[self.axis].extent

    @property
    def rows(self) -> AnySize:
        """Number of scans."""
        return math.prod(i.extent for d, i in enumerate(self.at) if d != self.axis)


@dataclass(frozen=True, slots=True, eq=False)
class Selection(Form):
    """The first `count` items of each `row` in order of `key`, and their columns: in `values` and `places`.

    `key` is an unsigned number, of so many `bits` if that is known. Of items with equal keys, the one in the
    lower column is first.
    """

    values: str
    places: str
    row: tuple[Index, ...]
    column: Index
    item: Expr
    key: Expr
    count: int
    bits: int | None = None

    @property
    def key_bits(self) -> int:
        """Number of bits in a key, counted from the lowest one."""
        return self.bits or 8 * self.key.dtype.size

    @property
    def rows(self) -> AnySize:
        """Number of rows."""
        return math.prod(i.extent for i in self.row)


@dataclass(frozen=True, slots=True, eq=False)
class StagedForm(Form):
    """The same results in stages, one after the other, with `scratch` memory from one to the next.

    Loops of statements that are said to be parallel are so, whatever they store.
    """

    stages: tuple[Scan | Selection | tuple[Stmt, ...], ...]
    scratch: dict[str, Buffer]


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """The updates of `Updates` in parts that do not meet, each with a result of its own in `scratch`."""

    body: tuple[Stmt, ...]
    scratch: dict[str, Buffer]


@dataclass(frozen=True, slots=True, eq=False)
class Updates(Form):
    """`count` updates at any of `rows` places, and how to do those of each place together.

    Only the first stage writes what no update changes. `copies` are for few threads, if they are worth it.
    """

    staged: StagedForm
    count: int
    rows: int
    copies: Copies | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pieces(Form):
    """For each of `domains`, its `stores` at every point; some of them contain `Reduce`.

    None reads what another one stores, so that their order is free.
    """

    domains: tuple[tuple[Index, ...], ...]
    stores: tuple[tuple[Store, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unproven(Form):
    """`form` of a kernel with open sizes some of whose positions are clamped, which `body` does not do.

    When the sizes are known, it may be proven that no position has to be.
    """

    body: tuple[Stmt, ...]
    form: Form
