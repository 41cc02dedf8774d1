"""Operands of a nest that lie across its results, and the tiles that they are turned in.

In y[i, j] = x[j, i] * z[i, j], results lie side by side *along* j, and elements of x *across*, along i. A
tile is worth its barrier where neighbours of the result lie at least 3 elements apart in an operand, as the
colors of images may, and both loops have as many iterations. Many small matrices need none: a block of
`pointwise` does whole ones, so that its threads read whole lines together. Nor do small arrays, whose time is
that of a launch, which they may share with other nests there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.indices.affine import Affine
from staticgraph.compiler.kernel.indices.index import offset
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axis
from staticgraph.compiler.kernel.schedule_gpu.strides import accessed, in_line, lane_loads, replaced, split
from staticgraph.compiler.kernel.schedule_gpu.target import BANK_BYTES, SHARED_BYTES, THREADS
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass

EDGE = {1: 128, 2: 64, 4: 64, 8: 32}  # elements on both sides of a tile, by the bytes of the widest
WIDTH = {1: 8, 2: 4, 4: 4, 8: 2}  # of a vector at most
FEWEST = 3  # elements from neighbour to neighbour, and of both loops
MATRIX = 4096  # elements that are worth tiles: about as many as a block of `pointwise` does
LEAST = 1 << 17  # elements of an array that is worth a function of its own
_READS = 16  # vectors of an operand that a thread reads at most
_EARLY = 128  # bytes of other operands that a thread reads before the barrier
_BLOCKS = 4  # that fit a multiprocessor: with several tiles, NVIDIA's compiler spills to have more of them
_MOST = 1 << 30  # iterations of a loop, and blocks: positions of a block are `int`


def transpose(nest: Nest, buffers: Mapping[str, Buffer]) -> TransposeSchedule | None:
    """The tiles of a nest without reductions; None if no operand of it is worth one, or they do not fit."""
    if math.prod(i.extent for i in nest.domain) < LEAST:
        return None
    found = _tiles(_merged(nest, buffers), buffers)
    return found if found and found.shared <= SHARED_BYTES and found.blocks <= _MOST else None


@dataclass(frozen=True, slots=True, eq=False)
class TransposeSchedule(FunctionSchedule):
    """Stores that are done in tiles, one for a block; `width` elements form a vector along both loops."""

    stores: tuple[Store, ...]
    along: Index
    across: Index
    batch: Axis  # all other loops
    turned: tuple[Load, ...]  # operands that lie across
    width: int
    edge: int
    buffers: Mapping[str, Buffer]

    kind = "transposed"

    @property
    def about(self) -> str:
        """The tile, and how many operands wait in it."""
        return f"tiles of {self.high} x {self.wide} of {len(self.turned)} operands, vectors of {self.width}"

    @property
    def grid(self) -> Extents:
        return self.blocks, 1, 1

    @property
    def blocks_per_core(self) -> int | None:
        return _BLOCKS if len(self.turned) > 1 else None

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        return {a.buffer for a in accessed(self.stores)}

    @property
    def pack(self) -> Index:
        """The number of a vector along."""
        return Index("pack", self.along.extent // self.width)

    @property
    def tables(self) -> list[dict[Expr, Expr]]:
        """The indices of each element of a vector along."""
        return [{self.along: self.pack * self.width + lane} for lane in range(self.width)]

    @property
    def squares(self) -> int:
        """Maximum number of squares of vectors per thread."""
        return -(-self.lines * self.columns // THREADS)

    @property
    def vectors(self) -> int:
        """Maximum number of vectors per thread, for each result."""
        return -(-self.high * self.columns // THREADS)

    @property
    def early(self) -> list[Load]:
        """Other operands that a thread reads before the barrier: its vectors, as far as there is room."""
        found: list[Load] = []
        left = _EARLY
        for load, lanes in lane_loads(self.stores, self.tables).items():
            size = self.vectors * self.width * load.dtype.size
            if load not in self.turned and size <= left and self._moves_along(lanes):
                found.append(load)
                left -= size
        return found

    def _moves_along(self, lanes: list[Load]) -> bool:
        """True if loads form a vector, and the vector moves with the vector of results."""
        buffer = self.buffers[lanes[0].buffer]
        form = offset(buffer, lanes[0].at)
        moves = self.pack in form.terms and all(isinstance(term, Index) for term in form.terms)
        return moves and in_line(buffer, [e.at for e in lanes])

    @property
    def high(self) -> int:
        """Elements of a tile across: more than `edge` where the other loop has less."""
        return self.side(self.across, min(self.edge, _power(self.along.extent)))

    @property
    def wide(self) -> int:
        """Elements of a tile along."""
        return self.side(self.along, self.high)

    def side(self, index: Index, other: int) -> int:
        """Elements along an index, where the other side of the tile has so many."""
        return min(self.edge**2 // other, _power(index.extent), THREADS * self.width)

    @property
    def lines(self) -> int:
        """Vectors of a tile across."""
        return self.high // self.width

    @property
    def columns(self) -> int:
        """Vectors of a tile along."""
        return self.wide // self.width

    @property
    def tiles(self) -> tuple[int, int]:
        """Numbers of tiles: across, and along."""
        return -(-self.across.extent // self.high), -(-self.along.extent // self.wide)

    @property
    def of_matrix(self) -> int:
        """Blocks for each point of the batch."""
        return math.prod(self.tiles)

    @property
    def blocks(self) -> int:
        """Blocks of all."""
        return self.of_matrix * self.batch.extent

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return sum(self.high * self.pitch(x) * x.dtype.size for x in self.turned)

    def pitch(self, load: Load) -> int:
        """Elements from a line in shared memory to the next: the threads that write at the same time, below
        each other and then side by side, write to different banks.
        """
        size = load.dtype.size
        reach = max(self.width * size, 4)
        together = BANK_BYTES // reach
        return self.wide + max(1, together // self.lines) * reach // size


def _power(extent: int) -> int:
    """The next power of two."""
    return 1 << (extent - 1).bit_length()


def _merged(nest: Nest, buffers: Mapping[str, Buffer]) -> Nest:
    """The nest with fewer loops, in the order of the first result: neighbouring ones are one where all
    accesses go through them as through one.
    """
    forms = [offset(buffers[a.buffer], a.at) for a in accessed(nest.stores)]
    first = offset(buffers[nest.stores[0].buffer], nest.stores[0].at)
    groups: list[list[Index]] = []
    for index in sorted(nest.domain, key=lambda i: -abs(first.terms.get(i, 0))):
        if groups and all(_is_one(form, groups[-1][-1], index) for form in forms):
            groups[-1].append(index)
        else:
            groups.append([index])
    table: dict[Expr, Expr] = {}
    loops: list[Index] = []
    for group in groups:
        extents = [i.extent for i in group]
        loops.append(group[0] if len(group) == 1 else Index(group[0].name, math.prod(extents)))
        if len(group) > 1:
            table.update(zip(group, split(loops[-1], extents), strict=True))
    return Nest(tuple(loops), tuple(replaced(s, table) for s in nest.stores))


def _is_one(form: Affine, slow: Index, fast: Index) -> bool:
    step = form.stride(fast)
    return step is not None and form.stride(slow) == step * fast.extent


def _tiles(nest: Nest, buffers: Mapping[str, Buffer]) -> TransposeSchedule | None:
    """The tiles of a nest, however large; None if no operand lies across."""

    def form(access: Load | Store) -> Affine:
        return offset(buffers[access.buffer], access.at)

    stores = nest.stores
    long = [i for i in nest.domain if FEWEST <= i.extent < _MOST]
    along = next((i for i in long if form(stores[0]).stride(i) == 1), None)
    if along is None:
        return None
    written = {s.buffer for s in stores}
    found: dict[Index, list[Load]] = {}
    for load in {a: None for a in accessed(stores) if isinstance(a, Load) and a.buffer not in written}:
        step = form(load).stride(along)
        across = next((i for i in long if form(load).stride(i) == 1 and i is not along), None)
        if across is not None and step is not None and abs(step) >= FEWEST:
            found.setdefault(across, []).append(load)
    across = max(found, key=lambda i: len(found[i]), default=None)
    if across is None or along.extent * across.extent < MATRIX:
        return None
    turned = found[across]
    size = max(x.dtype.size for x in (*turned, *(s.value for s in stores)))
    vectors = [(form(x), across) for x in turned]
    vectors += [(form(s), along) for s in stores if form(s).stride(along) == 1]
    width = WIDTH[size]
    while not all(_in_vectors(*vector, width) for vector in vectors):
        width //= 2
    edge = EDGE[size]
    while edge**2 // width > _READS * THREADS:
        edge //= 2
    batch = Axis("z", tuple(i for i in nest.domain if i not in (along, across)))
    return TransposeSchedule(stores, along, across, batch, tuple(turned), width, edge, buffers)


def _in_vectors(form: Affine, index: Index, width: int) -> bool:
    """True if the elements along an index fall into aligned vectors that exist as a whole or not at all."""
    others = [factor for term, factor in form.terms.items() if term is not index]
    return all(n % width == 0 for n in (index.extent, form.constant, *others))
