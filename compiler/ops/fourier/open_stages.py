"""Fourier transforms of a length that is known when a program runs: stages chosen then.

The stages are those of `rows.py`. There is code for a stage of each radix, and a loop asks which of them
divides what is left of the length. Points lie in two planes, of real and of imaginary parts, and a stage
reads one pair of planes and writes the other. In a row, the first stage has its transforms side by side
in vector lanes; all others have what is inside of a transform there, as strips of columns have from the
beginning.

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
_USUAL = (8, 4, 5, 3, 2)  # radices that have code for both directions; points are moved for the others
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

    def planes(self, name: str) -> Scratch:
        """The scratch memory of a pair of planes."""
        buffer = Buffer(self.dtype, (self.size,), written=True, local=True)
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


class State:
    """Whole numbers that change from step to step: in memory, where no proof of positions follows them."""

    _NAMES = ("side", "done", "rest", "start", "what", "ready")

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
    """The statements of one transform in the planes 0, whose results are in the planes `side`.

    It turns by negative angles. `length` is the number of points.
    """

    def __init__(self, points: Points, length: Expr) -> None:
        self.points, self.length, self.fresh, self.state = points, length, points.fresh, State()

    @property
    def scratch(self) -> Scratch:
        """The scratch memory."""
        return self.points.planes("0") | self.points.planes("1") | self.state.scratch

    def body(self) -> Body:
        """All stages. `side` tells where the results are."""
        width, state = self.points.width, self.state
        first: list[Stmt] = []
        if width is None:
            radix = self.fresh.local("radix", int64)
            first = [Let(radix, radix_of(self.length))]
            first += [If(scalar.eq(radix, r) & (self.length > 1), (*self._first(r),)) for r in RADICES]
        radix, case = (self.fresh.local(name, int64) for name in ("radix", "case"))
        cases = (
            If(scalar.eq(case, r * 2 + side), (*self._stage(r, str(side), str(1 - side)),))
            for r in RADICES
            for side in ((0, 1) if r in _USUAL else (1,))
        )
        is_rare = scalar.eq(state["side"], 0)
        for r in _USUAL:
            is_rare = is_rare & scalar.ne(radix, r)
        inside: Body = (
            Let(radix, radix_of(state["rest"])),
            If(is_rare, self._moved()),
            Let(case, radix * 2 + state["side"]),
            *cases,
        )
        begun = state.put(side=0, done=1 if width is None else width, rest=self.length, start=0)
        return *begun, *first, While(state["rest"] > 1, inside)

    def _moved(self) -> Body:
        """Copy the planes 0 to the planes 1."""
        points = self.points
        count = self.length if points.width is None else self.length * points.width
        move = points.lanes(
            between(count, 0, points.size),
            points.size,
            lambda place: points.put("1", place, points.get("0", place)),
        )
        return move, *self.state.put(side=1)

    def in_planes(self, body: Callable[[str], Body]) -> Body:
        """Do `body(name)` with the planes that have the results."""
        side = self.fresh.local("planes", int64)
        return Let(side, self.state["side"]), *(If(scalar.eq(side, n), body(str(n))) for n in (0, 1))

    def _following(self, radix: int, left: Expr) -> Body:
        """The state of the stage after this one."""
        state = self.state
        return state.put(
            start=state["start"] + left * (radix - 1),
            rest=left,
            done=state["done"] * radix,
            side=1 - state["side"],
        )

    def _first(self, radix: int) -> Iterator[Stmt]:
        """The first stage of a row, with its transforms in the lanes."""
        points, left = self.points, self.fresh.local("left", int64)

        def results(j: Index) -> Body:
            return self._results(
                radix, "0", "1", lambda q: left * q + j, lambda p: j * radix + p, left, whole(0), j
            )

        yield Let(left, between(self.length // radix, 0, points.most))
        yield If(left * radix <= whole(points.most), (points.lanes(left, points.most, results),))
        yield from self._following(radix, left)

    def _stage(self, radix: int, source: str, target: str) -> Iterator[Stmt]:
        """A stage with what is inside of its transforms in the lanes."""
        points, new = self.points, self.fresh.local
        left, done, span, start, at = (new(name, int64) for name in ("left", "done", "span", "start", "at"))
        yield Let(left, between(self.state["rest"] // radix, 0, points.most))
        yield Let(done, between(self.state["done"], 1, points.size))
        yield Let(span, between(left * done, 0, points.size))
        yield Let(start, between(self.state["start"], 0, points.most))

        def transform(j: Index) -> Body:
            def results(k: Index) -> Body:
                return self._results(
                    radix, source, target,
                    lambda q: at + span * q + k, lambda p: at * radix + done * p + k, left, start, j,
                )  # fmt: skip

            size = whole(points.size)
            inside = (at + span * (radix - 1) + done <= size) & (at * radix + done * radix <= size)
            return (
                Let(at, between(j * done, 0, points.size)),
                If(inside, (points.lanes(done, points.size, results),)),
            )

        loop = self.fresh.between(0, left, points.most, transform, "j")
        yield If(start + left * radix <= whole(points.most), (loop,))
        yield from self._following(radix, left)

    def _results(
        self,
        radix: int,
        source: str,
        target: str,
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

        points = []
        for q in range(radix):
            points.append(scalar.complex(*map(kept, self.points.get(source, read(q)))))
        stores: list[Body] = []
        for p, value in enumerate(small_transform(points, -1.0)):
            if p:
                place = start + left * (p - 1) + j
                value = value * scalar.complex(*self.points.get(ROOTS, place))
            stores.append(self.points.stores(target, write(p), [*map(kept, parts(value))]))
        # What lanes write side by side follows each other.
        return *lets, *(store for part in zip(*stores, strict=True) for store in part)


def radix_of(length: Expr) -> Expr:
    """The radix of the first stage for a length."""
    found: Expr = whole(RADICES[-1])
    for radix in reversed(RADICES[:-1]):
        found = scalar.select(scalar.eq(length % radix, 0), whole(radix), found)
    return found
