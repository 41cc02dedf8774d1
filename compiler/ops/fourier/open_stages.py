"""Fourier transforms of a length that is known when a program runs: stages chosen then.

There is code for a stage of each radix, and a loop asks which of them divides what is left of the length.
Points lie in two planes, of real and of imaginary parts, and each plane has two sides: a stage reads one and
writes the other. The lanes of a vector are columns, all of which are transformed alike.

A row whose length is a multiple of 4 has its first transforms there, and after them what is inside of one.
Another row is a matrix, of about as many rows as columns. Its columns are transformed, its entries are turned
by roots of unity and change places with those on the other side of the diagonal, and its columns are
transformed again.

Positions depend on numbers that are found at run time. A comparison in front of each loop over lanes tells
that they are in the planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Span, Stmt, Store, While
from staticgraph.compiler.machine import ALIGNMENT
from staticgraph.compiler.ops.fourier.butterflies import parts, small_transform
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch, whole

STRIP = 16  # columns that are transformed together: the float32 lanes of the widest vectors
TILE, TURNED = "tile", "turned"  # both planes of a tile, and of what its rows and columns become
WORK = "work"  # the planes of the points, with two sides
SPREAD = (8, 4)  # radices whose transforms lie in the lanes of a first stage: shuffles spread what it writes
ROOTS = "roots"  # the planes of the roots of unity of all stages
Point = tuple[Expr, Expr]  # its real and its imaginary part

RADICES = (8, 4, 7, 5, 3, 2)  # in the order in which a length is divided: code for 11 and 13 would double all
PRIMES = (2, 3, 5, 7)  # whose products have stages


def room(n: AnySize) -> AnySize:
    """The most points of a transform in stages that one of `n` points needs, in whole cache lines.

    Bluestein's convolution has at least 2 n - 1 points, and at most a quarter more.
    """
    return -(-(n * 3 + 16) // ALIGNMENT) * ALIGNMENT


def between(x: Expr, low: int, high: AnySize) -> Expr:
    """A number that is in a range, told to the proof of positions."""
    return scalar.minimum(scalar.maximum(x, low), whole(high))


class Points:
    """The points of a row, or of a strip of columns, and loops over them.

    Attributes:
        n: The number of points.
        width: The columns of a strip by now; None in a row.
    """

    def __init__(self, n: AnySize, width: Expr | None, dtype: DType, fresh: Fresh) -> None:
        self.n, self.width, self.dtype, self.fresh = n, width, dtype, fresh
        self.most = room(n)
        self.size = self.most if width is None else self.most * STRIP
        # Rows and columns of a matrix that change places together: a cache line, whose shuffles are few.
        self.tile = ALIGNMENT // dtype.size

    def planes(self, name: str, sides: int = 1) -> Scratch:
        """The scratch memory of a pair of planes."""
        buffer = Buffer(self.dtype, (self.size * sides,), written=True, local=True)
        return dict.fromkeys((f"re{name}", f"im{name}"), buffer)

    def get(self, name: str, place: Expr) -> Point:
        """A point of a pair of planes."""
        return Load(f"re{name}", (place,), self.dtype), Load(f"im{name}", (place,), self.dtype)

    def put(self, name: str, place: Expr, value: Point) -> Body:
        """The stores of a point, which may be that of `value`."""
        kept = [self.fresh.local("part", self.dtype) for _ in value]
        return *(Let(local, v) for local, v in zip(kept, value, strict=True)), *self.stores(name, place, kept)

    def stores(self, name: str, place: Expr, value: Sequence[Expr]) -> Body:
        """The stores of a point whose parts are known before the first of them."""
        return tuple(Store(f"{part}{name}", (place,), v) for part, v in zip(("re", "im"), value, strict=True))

    def lanes(self, count: Expr, most: AnySize, body: Callable[[Index], Body], first: Expr | int = 0) -> Loop:
        """A loop in vector lanes, up to a number that is known at run time."""
        index = self.fresh.index("lane", most)
        return Loop(index, body(index), LoopKind.SIMD, Span(whole(first), count))

    def each(self, first: Expr | int, count: Expr, body: Callable[[Expr, Expr], Body]) -> Body:
        """Do `body(point, place)` for all columns of the points from `first` to before `count`."""
        return self.each_column(first, count, lambda p, place, column: body(p, place))

    def each_column(self, first: Expr | int, count: Expr, body: Callable[[Expr, Expr, Expr], Body]) -> Body:
        """Do `body(point, place, column)` for the same."""
        if self.width is None:
            zero = Const(0, int64)
            return (self.lanes(count, self.most, lambda p: body(p, p, zero), first),)
        width, begin, size = self.width, self.fresh.local("begin", int64), whole(self.size)

        def row(p: Index) -> Body:
            columns = self.lanes(width, STRIP, lambda c: body(p, begin + c, c))
            return Let(begin, between(p * width, 0, self.size)), If(begin + width <= size, (columns,))

        return (self.fresh.between(first, count, self.most, row, "point"),)

    def each_of_side(self, side: Expr, count: Expr, body: Callable[[Expr, Expr, Expr], Body]) -> Body:
        """Do `body(point, place, at)` for the points before `count`, which are at `side + place`."""
        if self.width is None:
            return self.each(0, count, lambda p, place: body(p, place, side + place))
        width, size = self.width, whole(self.size)

        def row(p: Index) -> Body:
            begin, at = (self.fresh.local(name, int64) for name in ("begin", "at"))
            columns = self.lanes(width, STRIP, lambda c: body(p, begin + c, at + c))
            return (
                Let(begin, between(p * width, 0, self.size)),
                Let(at, between(side + begin, 0, self.size * 2)),
                If((begin + width <= size) & (at + width <= whole(self.size * 2)), (columns,)),
            )

        return (self.fresh.between(0, count, self.most, row, "point"),)


class State:
    """Whole numbers that change from step to step: in memory, where no proof of positions follows them."""

    _NAMES = ("side", "done", "rest", "start", "half", "what", "ready")

    @property
    def scratch(self) -> Scratch:
        """The scratch memory."""
        return {"state": Buffer(int64, (len(self._NAMES),), written=True, local=True)}

    def __getitem__(self, name: str) -> Load:
        return Load("state", (whole(self._NAMES.index(name)),), int64)

    def put(self, **values: Expr | int) -> Body:
        """The stores of values, none of which may depend on one that comes before it."""
        return tuple(Store("state", (whole(self._NAMES.index(n)),), whole(v)) for n, v in values.items())


class OpenStages:
    """The statements of one transform of what the first side of the planes has.

    It turns by negative angles. `length` is the number of points, and `rows` those of the matrix that a row
    is; `side` tells where the results begin.
    """

    def __init__(self, points: Points, length: Expr, rows: Expr) -> None:
        self.points, self.length, self.rows = points, length, rows
        self.fresh, self.state = points.fresh, State()
        self.tile = points.tile

    @property
    def scratch(self) -> Scratch:
        """The scratch memory."""
        tiles = tiles_of(self.points) if self.points.width is None else {}
        return self.points.planes(WORK, sides=2) | self.state.scratch | tiles

    def body(self) -> Body:
        """All stages."""
        width, state, radix = self.points.width, self.state, self.fresh.local("radix", int64)
        rest, is_single = state["rest"], scalar.eq(state["done"], 1)
        if width is not None:
            cases = (If(scalar.eq(radix, r), (*self._stage(r),)) for r in RADICES)
            stages = While(rest > 1, (Let(radix, radix_of(rest)), *cases))
            return *state.put(side=0, done=width, rest=self.length, start=0), stages
        case, columns = self.fresh.local("case", int64), self.fresh.local("columns", int64)
        found = scalar.select(is_single & divides(4, radix), -radix, radix)
        inside: Body = (
            Let(radix, radix_of(rest)),
            Let(case, found),
            *(If(scalar.eq(case, -r), (*self._first(r),)) for r in SPREAD),
            *(If(scalar.eq(case, r), (*self._stage(r),)) for r in RADICES),
        )
        is_matrix = scalar.eq(state["half"], 0) & (columns > 1)
        halves: Body = (
            While(rest > 1, inside),
            If(is_matrix, (*self._turn(columns), *state.put(rest=columns))),
            *state.put(half=state["half"] + 1),
        )
        # The first roots are those of the turn.
        start = scalar.select(columns > 1, self.rows * columns, whole(0))
        return (
            Let(columns, between(scalar.truncdiv(self.length, self.rows), 1, self.points.most)),
            *state.put(side=0, done=columns, rest=self.rows, start=start, half=0),
            While(state["half"] < 2, halves),
        )

    def side(self, body: Callable[[Local], Body]) -> Body:
        """Do `body(side)` with the place where the results begin."""
        side = self.fresh.local("side", int64)
        return Let(side, between(self.state["side"], 0, self.points.size)), *body(side)

    def _first(self, radix: int) -> Iterator[Stmt]:
        """The first stage of a row that is no matrix, with its transforms in the lanes."""
        points, state, left = self.points, self.state, self.fresh.local("left", int64)
        size = whole(points.size)

        def results(j: Index) -> Body:
            return self._results(
                radix, lambda q: left * q + j, lambda p: size + j * radix + p, left, whole(0), j
            )

        yield Let(left, between(scalar.truncdiv(self.length, radix), 0, points.most))
        yield If(left * radix <= whole(points.most), (points.lanes(left, points.most, results),))
        yield from state.put(start=left * (radix - 1), rest=left, done=radix, side=size)

    def _stage(self, radix: int) -> Iterator[Stmt]:
        """A stage of a radix."""
        points, state, new = self.points, self.state, self.fresh.local
        size, both = whole(self.points.size), whole(self.points.size * 2)
        left, done, span, start, at, to = (
            new(name, int64) for name in ("left", "done", "span", "start", "at", "to")
        )
        yield Let(left, between(scalar.truncdiv(state["rest"], radix), 0, points.most))
        yield Let(done, between(state["done"], 1, points.size))
        yield Let(span, between(left * done, 0, points.size))
        yield Let(start, between(state["start"], 0, points.most))

        def transform(j: Index) -> Body:
            def results(k: Index) -> Body:
                return self._results(
                    radix, lambda q: at + span * q + k, lambda p: to + done * p + k, left, start, j
                )

            inside = (at + span * (radix - 1) + done <= both) & (to + done * radix <= both)
            return (
                Let(at, between(state["side"] + j * done, 0, points.size * 2)),
                Let(to, between(size - state["side"] + j * done * radix, 0, points.size * 2)),
                If(inside, (points.lanes(done, points.size, results),)),
            )

        loop = self.fresh.between(0, left, points.most, transform, "j")
        yield If(start + left * radix <= whole(points.most), (loop,))
        yield from state.put(
            start=start + left * (radix - 1), rest=left, done=done * radix, side=size - state["side"]
        )

    def _results(
        self,
        radix: int,
        read: Callable[[int], Expr],
        write: Callable[[int], Expr],
        left: Expr,
        start: Expr,
        j: Expr,
    ) -> Body:
        """The transform of a few points, turned by the roots of `j`."""
        lets: list[Stmt] = []

        def kept(value: Expr) -> Local:
            local = self.fresh.local("p", value.dtype)
            lets.append(Let(local, value))
            return local

        points = [scalar.complex(*map(kept, self.points.get(WORK, read(q)))) for q in range(radix)]
        stores: list[Body] = []
        for p, value in enumerate(small_transform(points, -1.0)):
            if p:
                value = value * scalar.complex(*self.points.get(ROOTS, start + left * (p - 1) + j))
            stores.append(self.points.stores(WORK, write(p), [*map(kept, parts(value))]))
        # What lanes write side by side follows each other.
        return *lets, *(store for part in zip(*stores, strict=True) for store in part)

    def _turn(self, columns: Expr) -> Body:
        """Turn entry [i, j] of the matrix by the root i j of the length, and make it entry [j, i].

        They change places in square tiles, by shuffles: to gather them would take as long as all stages.
        """
        points, new, fresh = self.points, self.fresh.local, self.fresh
        size, tile = whole(self.points.size), self.tile
        side, height = new("side", int64), new("height", int64)

        def turn(first: Expr, column: Index) -> Body:
            """The tile from row `first` on, of some columns."""
            begin = column * tile

            def turned(r: Index) -> Body:
                at = new("at", int64)

                def entry(lane: Index) -> Body:
                    made = times(points.get(WORK, side + at + lane), points.get(ROOTS, at + lane))
                    kept = [new(part, points.dtype) for part in ("re", "im")]
                    stores = (Store(TILE, (whole(k), r, lane), part) for k, part in enumerate(kept))
                    return *(Let(local, v) for local, v in zip(kept, made, strict=True)), *stores

                # Beyond the matrix are points that nobody needs.
                place = scalar.minimum(first + r, self.rows - 1) * columns + begin
                return Let(at, between(place, 0, points.most - tile)), fresh.lanes(tile, entry)

            def line(j: Index) -> Body:
                to = new("to", int64)

                def entry(lane: Index) -> Body:
                    value = [Load(TURNED, (whole(k), j, lane), points.dtype) for k in range(2)]
                    return (If(lane < height, points.stores(WORK, to + lane, value)),)

                place = size - side + (begin + j) * self.rows + first
                return Let(to, between(place, 0, points.size * 2 - tile)), fresh.lanes(tile, entry)

            return (
                fresh.each(tile, turned, "row"),
                transposed_tile(points),
                fresh.between(0, between(columns - begin, 0, tile), tile, line, "j"),
            )

        def strip(number: Index) -> Body:
            first = number * tile
            tiles = fresh.between(
                0, (columns + tile - 1) // tile, points.most // tile, lambda c: turn(first, c), "tile"
            )
            return Let(height, between(self.rows - first, 0, tile)), tiles

        return (
            Let(side, between(self.state["side"], 0, points.size)),
            fresh.between(0, (self.rows + tile - 1) // tile, points.most // tile, strip, "strip"),
            *self.state.put(done=self.rows, side=size - side),
        )


def tiles_of(points: Points) -> Scratch:
    """The scratch memory of `transposed_tile`."""
    tile = Buffer(points.dtype, (2, points.tile, points.tile), written=True, local=True)
    return {TILE: tile, TURNED: tile}


def transposed_tile(points: Points) -> Loop:
    """Let the rows and the columns of both planes of a tile change places."""
    fresh, tile = points.fresh, points.tile

    def transposed(part: Index) -> Body:
        def entries(lane: Index) -> Body:
            kept = [fresh.local("entry", points.dtype) for _ in range(tile)]
            return (
                *(Let(v, Load(TILE, (part, whole(r), lane), v.dtype)) for r, v in enumerate(kept)),
                *(Store(TURNED, (part, lane, whole(r)), v) for r, v in enumerate(kept)),
            )

        return (fresh.lanes(tile, entries),)

    return fresh.each(2, transposed, "part")


def times(a: Point, b: Point) -> Point:
    """The product of two complex numbers."""
    return parts(scalar.complex(*a) * scalar.complex(*b))


def divides(divisor: int, number: Expr) -> Expr:
    """True if a positive number is a multiple of `divisor`."""
    return scalar.eq(scalar.truncmod(number, divisor), 0)


def radix_of(length: Expr) -> Expr:
    """The radix of the first stage for a length."""
    found: Expr = whole(RADICES[-1])
    for radix in reversed(RADICES[:-1]):
        found = scalar.select(divides(radix, length), whole(radix), found)
    return found
