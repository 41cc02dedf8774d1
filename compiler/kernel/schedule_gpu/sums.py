"""Schedule of reductions over the same points, and of what is made of them: sums of columns, and of all.

    y[j] = 0.1 * add(x[i, j] for i)  is a sum over the row i for every column j

Rows and columns are numbered each as one, and either may be divided into vectors. A block whose rows lie
along memory adds up one column; otherwise it does up to 32 vectors of columns, and its threads take rows in
turn. If that leaves the GPU idle, blocks take parts of the rows, and a second function adds up what they have
found. The order in which threads run changes nothing: whatever is added, is added in the order of the text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

from staticgraph.compiler.graph.sizes import MANY, AnySize, Size, at_least, estimate, same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, Reduce, free_indices, substitute, walk
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.nests import flatten
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.scalar import read
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule, Grid, Scratch
from staticgraph.compiler.kernel.schedule_gpu.strides import Columns, counting, neighbours, split, width
from staticgraph.compiler.kernel.schedule_gpu.target import SECTOR_BYTES, THREADS, WARP
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Stmt, Store, Update, rewrite
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """`stores` for every point of `columns`, made of the locals of `reduces`, which are over `rows`."""

    columns: tuple[Index, ...]
    rows: tuple[Index, ...]
    reduces: Mapping[Local, Reduce]
    stores: tuple[Store, ...]
    buffers: Mapping[str, Buffer]

    @property
    def count(self) -> AnySize:
        """Number of columns."""
        return math.prod(i.extent for i in self.columns)

    @property
    def height(self) -> AnySize:
        """Number of rows."""
        return math.prod(i.extent for i in self.rows)

    @property
    def flat(self) -> dict[str, Buffer]:
        """The buffers, where positions are offsets."""
        return {n: replace(b, shape=(b.size,) if b.shape else ()) for n, b in self.buffers.items()}

    def across(self, wide: int) -> Columns:
        """Return the statements that add one row to a vector of columns; the row is named `row`."""
        q, v, row = counting("q", self.count // wide, wide), Index("v", wide), counting("row", self.height)
        return q, v, self._at(self._steps, simplify_index(q * wide + v), row)

    def along(self, wide: int) -> Columns:
        """Return the statements that add a vector of rows to one column; the column is named `column`."""
        q, v = counting("q", self.height // wide, wide), Index("v", wide)
        column = counting("column", self.count)
        return q, v, self._at(self._steps, column, simplify_index(q * wide + v))

    @property
    def width_across(self) -> int:
        """Number of neighbouring columns that are loaded at a time."""
        return width(self.count, self.across, self.flat)

    @property
    def width_along(self) -> int:
        """Number of neighbouring rows that are loaded at a time."""
        return width(self.height, self.along, self.flat)

    @property
    def is_along(self) -> bool:
        """True if neighbours in memory belong to the same sum rather than to neighbouring results."""
        if same(self.count, 1):
            return True
        row, _, by_row = self.along(1)
        column, _, by_column = self.across(1)
        return neighbours(by_row, row, self.flat) > neighbours(by_column, column, self.flat)

    def results(self) -> tuple[Index, tuple[Store, ...]]:
        """Return the index of a column, and the stores of its results."""
        column = counting("column", self.count)
        stores = self._at(flatten(Kernel("", dict(self.buffers), self.stores)).body, column, None)
        return column, tuple(s for s in stores if isinstance(s, Store))

    @property
    def _steps(self) -> tuple[Stmt, ...]:
        """Statements by which every row contributes to the sums."""
        steps = [Update(acc, read(r.combine, acc, r.value), r.combine) for acc, r in self.reduces.items()]
        return flatten(Kernel("", dict(self.buffers), tuple(steps))).body

    def _at(self, body: tuple[Stmt, ...], column: Expr, row: Expr | None) -> tuple[Stmt, ...]:
        places = list(zip(self.columns, split(column, [i.extent for i in self.columns]), strict=True))
        if row is not None:
            places += zip(self.rows, split(row, [i.extent for i in self.rows]), strict=True)
        return rewrite(body, lambda e: simplify_index(substitute(e, dict(places))))


def sums_of(nest: Nest, buffers: Mapping[str, Buffer]) -> Sums | None:
    """`nest` as reductions over the same rows, others for every column; None if it has another form."""
    found = [e for e in walk(*(s.value for s in nest.stores)) if isinstance(e, Reduce)]
    extents = {tuple(a.extent for a in r.axes if not same(a.extent, 1)) for r in found}
    columns = tuple(i for i in nest.domain if not same(i.extent, 1))
    if len(extents) != 1 or not all(free_indices(r) >= set(columns) for r in found):
        return None
    elsewhere = [*(r.value for r in found), *(a for s in nest.stores for a in s.at)]
    if any(isinstance(e, Reduce) for e in walk(*elsewhere)):
        return None
    rows = tuple(Index(f"sum{n}", extent) for n, extent in enumerate(extents.pop()))
    reduces: dict[Local, Reduce] = {}
    named: dict[Expr, Expr] = {}
    for n, reduce in enumerate(found):
        axes = [a for a in reduce.axes if not same(a.extent, 1)]
        value = simplify_index(substitute(reduce.value, dict(zip(axes, rows, strict=True))))
        named[reduce] = local = Local(f"sum{n}", reduce.dtype)
        reduces[local] = Reduce(rows, reduce.combine, value)
    stores = tuple(replace(s, value=substitute(s.value, named)) for s in nest.stores)
    return Sums(columns, rows, reduces, stores, buffers)


def in_parts(sums: Sums, count: int) -> tuple[Sums, Sums, Scratch]:
    """The sums over each of `count` parts of the rows, the sums of those, and the memory between the two.

    Which part it is, the index `part` says in the stores of the first.
    """
    part = Index("part", count)
    buffers, stores, reduces = dict(sums.buffers), [], {}
    free = (name for n in itertools.count() if (name := f"partial{n}") not in sums.buffers)
    names = [*itertools.islice(free, len(sums.reduces))]
    for name, (local, reduce) in zip(names, sums.reduces.items(), strict=True):
        buffers[name] = Buffer(local.dtype, (count, *(i.extent for i in sums.columns)), written=True)
        at = (part, *sums.columns)
        stores.append(Store(name, at, local))
        reduces[local] = Reduce((part,), reduce.combine, Load(name, at, local.dtype))
    scratch = tuple((name, buffers[name].size * buffers[name].dtype.size) for name in names)
    first = replace(sums, stores=tuple(stores), buffers=buffers)
    return first, Sums(sums.columns, (part,), reduces, sums.stores, buffers), scratch


_WORTH = 4  # parts that are worth another function
_VECTORS, _ROWS = 4, 16  # of a thread at least, if rows are cut: along memory, and across
_LOADED = 4  # rows that a thread loads before it adds them up


@dataclass(frozen=True, slots=True, eq=False)
class SumSchedule(FunctionSchedule):
    """One function: blocks for `sums`, each of which has `parts` blocks that take a share of its rows.

    `along`: rows lie side by side in memory, and a thread loads `width` of them at a time; otherwise it has
    as many columns, and `lanes` threads next to each other have different ones.
    """

    sums: Sums
    along: bool
    width: int
    parts: int
    lanes: int

    takes_sizes = True

    @property
    def kind(self) -> str:
        return "full" if self.along else "columns"

    @property
    def about(self) -> str:
        """The tile of a block, and the parts of the rows."""
        way = "rows" if self.along else "columns"
        return f"vectors of {self.width} {way}, {self.tile} columns a block, rows in {self.parts} parts"

    @property
    def tile(self) -> int:
        """Columns of a block."""
        return 1 if self.along else self.lanes * self.width

    @property
    def strips(self) -> int:
        """Threads of a block that take rows of the same columns."""
        return THREADS // self.lanes

    @property
    def grid(self) -> Grid:
        return at_least(-(-self.sums.count // self.tile), 1), self.parts, 1


def schedule_sums(sums: Sums, machine: GpuMachine) -> GpuSchedule:
    """Return one function for `sums`, or one for parts of the rows and one that adds them up."""
    along = sums.is_along
    whole = _function(sums, along)
    rows = estimate(sums.height, MANY) // whole.strips
    most = rows // (whole.width * _VECTORS) if along else rows // _ROWS
    parts = min(machine.busy_blocks // estimate(whole.grid[0], MANY), most)
    if parts < _WORTH:
        return GpuSchedule((_narrowed(whole, machine),))
    first, then, scratch = in_parts(sums, parts)
    return GpuSchedule((_function(first, along, parts), _narrowed(_function(then, along), machine)), scratch)


def _function(sums: Sums, along: bool, parts: int = 1) -> SumSchedule:
    width = sums.width_along if along else sums.width_across
    vectors = sums.count // width
    lanes = WARP if isinstance(vectors, Size) else min(WARP, 1 << (vectors - 1).bit_length())
    return SumSchedule(sums, along, width, parts, 1 if along else lanes)


def _narrowed(made: SumSchedule, machine: GpuMachine) -> SumSchedule:
    """`made` with narrower tiles, and so more blocks, while threads have many rows and the GPU is idle."""
    loads = [e for r in made.sums.reduces.values() for e in walk(r.value) if isinstance(e, Load)]
    sector = SECTOR_BYTES // min((e.dtype.size for e in loads), default=1)  # columns that lie in one
    while (
        made.lanes > 1
        and made.tile > sector
        and estimate(made.grid[0], MANY) < machine.busy_blocks
        and estimate(made.sums.height, MANY) > _LOADED * made.strips
    ):
        made = replace(made, lanes=made.lanes // 2)
    return made
