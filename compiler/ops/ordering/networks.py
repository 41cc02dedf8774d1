"""Sorting networks: rows in order by comparisons that are the same for all data, one row in each lane.

    a[0], a[1] = min(a[0], a[1]), max(a[0], a[1])        a comparator, for as many rows as a vector has lanes

Columns of `LANES` rows are brought side by side. A network then sorts runs, whose lengths double: a merge
compares each item of a run with its mirror image in the next one, then with items at half the distance, a
quarter, and so on. Several of these steps are done at a time with items in registers. Runs end in keys that
are the last in order, up to a power of two. If the length of rows is open, there is code for the longest
ones, and a run does as many of its merges as its rows need.

Equal keys may change places, so networks are for results of which only the keys are seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, at_least, at_most, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Stmt, Store
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole

LANES = 16  # rows that are sorted together
_BLOCK = 16  # keys that are sorted, or compared in several steps, while they are in registers
_STEPS = 4  # of a merge that are done with keys in registers: as many as a block of keys has
_NEAR = 256  # columns that are brought in order before those farther away: they stay in the nearest cache
_STRIP = 32  # columns that are copied at a time, so that the lines that they are in stay in the nearest cache


class Network:
    """A network for rows of `length` keys, in scratch memory with a column of `LANES` keys after the other.

    An open length is at most `most`, a power of two. `fresh` gives names to its loops and locals.
    """

    def __init__(self, name: str, length: AnySize, dtype: DType, fresh: Fresh, most: int = 0) -> None:
        self.name, self.dtype, self.fresh = name, dtype, fresh
        self.is_open = isinstance(length, Size)
        self.length = at_most(length, most) if self.is_open else length
        long = self.is_open or length > _BLOCK
        self.padded = most or (1 << max(length - 1, 0).bit_length() if long else length)

    @property
    def scratch(self) -> dict[str, Buffer]:
        """The memory for the keys, and for some of one row."""
        shapes = {self.name: (self.padded, LANES), self._strip: (_STRIP,)}
        return {name: Buffer(self.dtype, shape, written=True, local=True) for name, shape in shapes.items()}

    @property
    def _strip(self) -> str:
        return f"{self.name}_strip"

    def filled(self, lane: Index, make: Callable[[Expr], Expr]) -> Body:
        """Statements that write the key `make(column)` for all columns and values of `lane`."""

        def one(columns: AnySize, first: Expr) -> Body:
            return (
                self.fresh.lanes(columns, lambda i: (Store(self._strip, (i,), make(first + i)),)),
                self.fresh.each(
                    columns, lambda i: (self._store(first + i, lane, Load(self._strip, (i,), self.dtype)),)
                ),
            )

        def pad(column: Index) -> Body:
            last = Const(self.dtype.max, self.dtype)
            return (self.fresh.lanes(LANES, lambda at: (self._store(column, at, last),)),)

        length, end = whole(self.length), whole(self.padded)
        if self.is_open:  # as far as merges of runs that begin in the row go
            end = scalar.minimum(length * 2 + (_BLOCK - 1), end)
        beyond = self.fresh.between(length, end, self.padded, pad, "column")
        padding = (beyond,) if self.is_open or self.padded > self.length else ()
        return (*self._strips(lane, self.length, one), *padding)

    def emptied(self, lane: Index, count: AnySize, put: Callable[[Expr, Expr], Stmt], inside: Expr) -> Body:
        """Statements that do `put(column, key)` for `count` columns and the lanes that are `inside`."""

        def one(columns: AnySize, first: Expr) -> Body:
            body = (
                self.fresh.each(
                    columns, lambda i: (Store(self._strip, (i,), self._load(first + i, lane)),)
                ),
                self.fresh.lanes(columns, lambda i: (put(first + i, Load(self._strip, (i,), self.dtype)),)),
            )
            return (If(inside, body),)

        return self._strips(lane, count, one)

    def _strips(self, lane: Index, columns: AnySize, one: Callable[[AnySize, Expr], Body]) -> Body:
        """`one(columns, first)` for strips of columns, each for all values of `lane`."""
        full, rest = columns // _STRIP, columns % _STRIP
        loops = []
        if not same(full, 0):
            strip = self.fresh.index("strip", full)
            loops.append(Loop(strip, (Loop(lane, one(_STRIP, strip * _STRIP)),)))
        if not same(rest, 0):
            loops.append(Loop(lane, one(rest, whole(full * _STRIP))))
        return tuple(loops)

    def sorted(self) -> Body:
        """Statements that bring the keys of each lane in order."""
        first = Const(0, int64)
        if self.is_open:
            return (
                self._blocks(self.length, first),
                *self._merges(_BLOCK, self.padded, self.length, first),
            )
        if self.length <= _BLOCK:
            return (self._compared([Const(i, int64) for i in range(self.length)], exchanges(self.length)),)
        near = min(self.padded, _NEAR)
        piece = self.fresh.index("piece", -(-self.length // near))
        return (
            Loop(piece, (self._blocks(near, piece * near), *self._merges(_BLOCK, near, near, piece * near))),
            *self._merges(near, self.padded, self.length, first),
        )

    def _blocks(self, columns: AnySize, first: Expr) -> Loop:
        """Bring the keys of each block of `columns` from `first` on in order."""
        comparators = exchanges(_BLOCK)

        def block(number: Index) -> Body:
            return (self._compared([first + (number * _BLOCK + i) for i in range(_BLOCK)], comparators),)

        return self.fresh.each(-(-columns // _BLOCK), block, "block")

    def _merges(self, run: int, end: int, columns: AnySize, first: Expr) -> Iterator[Loop]:
        """Merge runs of `run` columns, from `first` on, to runs of `end`, as far as there are `columns`."""
        while run < end:
            yield from self._merge(run, columns, first)
            run *= 2

    def _merge(self, run: int, columns: AnySize, first: Expr) -> Iterator[Loop]:
        """Merge neighbours of runs that begin before the last of `columns`."""
        pairs = at_least(-(-(columns - run) // (2 * run)), 0)
        merged = 2 * run * pairs if self.is_open else min(columns, 2 * run * pairs)
        steps = run.bit_length()  # with mirror images, then at distances of run / 2 to 1
        passes = -(-steps // _STEPS)
        for number in range(passes):
            here = steps // passes + (number < steps % passes)
            if number == 0:
                yield self._mirrored(run, here - 1, pairs, first)
                distance = run >> here
            else:
                yield self._halved(distance, here, -(-merged // (2 * distance)), first)
                distance >>= here

    def _mirrored(self, run: int, more: int, pairs: AnySize, first: Expr) -> Loop:
        """The step with mirror images, and `more` after it."""
        count = 1 << more
        apart = run // count
        comparators = [(i, 2 * count - 1 - i) for i in range(count)] + _halvings(count, more)
        comparators += [(count + i, count + j) for i, j in _halvings(count, more)]

        def one(pair: Index) -> Body:
            def each(i: Index) -> Body:
                start = first + pair * (2 * run)
                low = [start + (i + m * apart) for m in range(count)]
                high = [start + (2 * run - 1 - m * apart) - i for m in reversed(range(count))]
                return (self._compared(low + high, comparators),)

            return (self.fresh.each(apart, each),)

        return self.fresh.each(pairs, one, "pair")

    def _halved(self, distance: int, steps: int, count: AnySize, first: Expr) -> Loop:
        """So many steps, the first of them at `distance`, in each of `count` parts of columns."""
        apart, size = distance >> (steps - 1), 1 << steps
        comparators = _halvings(size, steps)

        def one(part: Index) -> Body:
            def each(i: Index) -> Body:
                start = first + part * (2 * distance)
                return (self._compared([start + (i + m * apart) for m in range(size)], comparators),)

            return (self.fresh.each(apart, each),)

        return self.fresh.each(count, one, "part")

    def _compared(self, columns: Sequence[Expr], comparators: Sequence[tuple[int, int]]) -> Loop:
        """Load the keys of some columns, put the lower one first of each two of them, and store them."""

        def lanes(at: Index) -> Body:
            body: list[Stmt] = []

            def let(value: Expr) -> Local:
                local = self.fresh.local("key", self.dtype)
                body.append(Let(local, value))
                return local

            keys = [let(self._load(column, at)) for column in columns]
            for i, j in comparators:
                keys[i], keys[j] = (
                    let(scalar.minimum(keys[i], keys[j])),
                    let(scalar.maximum(keys[i], keys[j])),
                )
            return (*body, *(self._store(column, at, key) for column, key in zip(columns, keys, strict=True)))

        return self.fresh.lanes(LANES, lanes)

    def _load(self, column: Expr, lane: Expr) -> Load:
        return Load(self.name, (column, lane), self.dtype)

    def _store(self, column: Expr, lane: Expr, key: Expr) -> Store:
        return Store(self.name, (column, lane), key)


def exchanges(count: int) -> list[tuple[int, int]]:
    """The comparators of a network for `count` keys: Batcher's merges of odd and even places.

    >>> exchanges(4)
    [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]
    """
    found, run = [], 1
    while run < count:
        distance = run
        while distance:
            for start in range(distance % run, count - distance, 2 * distance):
                for i in range(start, min(start + distance, count - distance)):
                    if i // (2 * run) == (i + distance) // (2 * run):
                        found.append((i, i + distance))
            distance //= 2
        run *= 2
    return found


def _halvings(count: int, steps: int) -> list[tuple[int, int]]:
    """The comparators of `count` keys at half of the distance, a quarter and so on, in so many steps."""
    return [
        (i, i + distance)
        for distance in (count >> (step + 1) for step in range(steps))
        for i in range(count)
        if not i & distance
    ]
