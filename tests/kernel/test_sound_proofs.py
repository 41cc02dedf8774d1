"""Proofs about positions hold for all data: numbers of 64 bits, which wrap around, and all open sizes.

Random positions and conditions are proven, and then computed with numbers at the ends of their range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from staticgraph.compiler.graph.dtypes import bool_, float32, int32, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, Undecided, at_most, evaluate, symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Local, Scalar, walk
from staticgraph.compiler.kernel.indices.affine import bounds, linear
from staticgraph.compiler.kernel.indices.extremes import apart, extremes, span
from staticgraph.compiler.kernel.indices.facts import Facts
from staticgraph.compiler.kernel.indices.in_bounds import OutOfBoundsError, in_bounds
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Stmt, Store, Update

HALF = 1 << 63
DATA = (
    -HALF,
    1 - HALF,
    6 - HALF,
    HALF - 1,
    HALF - 5,
    1 << 62,
    -(1 << 62),
    1 << 31,
    0,
    1,
    3,
    5,
    7,
    -1,
    -2,
    -7,
)
a, b, narrow = Local("a", int64), Local("b", int64), Local("narrow", int32)
i, j = Index("i", 4), Index("j", 6)
n, m = symbol("n"), symbol("m")
ONE = Const(1.0, float32)

MEANING: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "neg": lambda x: -x,
    "minimum": min, "maximum": max, "select": lambda c, x, y: x if c else y, "cast": int,
    "floordiv": lambda x, y: x // y if y else 0, "floormod": lambda x, y: x % y if y else 0,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y, "and": lambda x, y: x & y, "or": lambda x, y: x | y,
}  # fmt: skip


def computed(expr: Expr, at: Mapping[Expr, int], sizes: Mapping[str, int]) -> int:
    """The value of an expression, as machine code has it."""
    match expr:
        case Const(value):
            return value
        case Extent(size):
            return evaluate(size, sizes)
        case Scalar(op, args):
            made = MEANING[op](*(computed(x, at, sizes) for x in args))
            return made if expr.dtype.is_bool else (made + HALF) % (2 * HALF) - HALF
    return at[expr]


def number(size: AnySize) -> Expr:
    return Extent(size) if isinstance(size, Size) else Const(size, int64)


class Draw:
    """Draws positions and conditions from leaves and sizes."""

    def __init__(self, seed: int, leaves: Sequence[Expr], sizes: Sequence[AnySize]) -> None:
        self.random, self.leaves, self.sizes = Random(seed), leaves, sizes

    def position(self, depth: int) -> Expr:
        r = self.random
        if not depth or r.random() < 0.15:
            return r.choice(self.leaves)
        x, by, size = self.position(depth - 1), r.choice((1, 2, 3, 7)), number(r.choice(self.sizes))
        return r.choice(
            (
                lambda: x + self.position(depth - 1), lambda: x - self.position(depth - 1),
                lambda: scalar.minimum(x, self.position(depth - 1)),
                lambda: scalar.maximum(x, self.position(depth - 1)),
                lambda: x * by, lambda: -x, lambda: x // by, lambda: x % by, lambda: size - 1 - x,
                lambda: scalar.minimum(x, size - 1), lambda: scalar.maximum(x, 0),
                lambda: scalar.minimum(x, size - x), lambda: scalar.maximum(x, by - x),
                lambda: scalar.select(self.condition(0), x, self.position(depth - 1)),
            )
        )()  # fmt: skip

    def condition(self, depth: int) -> Expr:
        compare = self.random.choice((scalar.lt, scalar.le, scalar.gt, scalar.ge))
        made = compare(self.position(1), self.position(1))
        if not depth or self.random.random() < 0.5:
            return made
        other = self.condition(depth - 1)
        return made & other if self.random.random() < 0.7 else made | other


def is_proven(place: Expr, extent: AnySize, loops: Sequence[Index], condition: Expr) -> bool:
    outer, inner = loops
    store = If(condition, (Store("out", (place,), ONE),))
    body = (Loop(outer, (Loop(inner, (store,)),)),)
    try:
        return in_bounds(body, {"out": Buffer(float32, (extent,), written=True)}) is body
    except (Undecided, OutOfBoundsError):
        return False


def test_ranges_and_places_of_data():
    draw = Draw(1, (a, a, b, i, j, scalar.cast(narrow, int64), Const(2, int64), Const(-3, int64)), (4, 6))
    r, proven = draw.random, 0
    for _ in range(500):
        place, condition = draw.position(r.choice((1, 2, 3))), draw.condition(1)
        if r.random() < 0.4:
            place = scalar.minimum(scalar.maximum(place, 0), 3)
        everywhere, given = Facts().range(place), Facts().given(condition).range(place)
        inside = is_proven(place, 4, (i, j), condition)
        proven += inside
        for _ in range(30):
            at: dict[Expr, int] = {a: r.choice(DATA), b: r.choice(DATA), narrow: r.choice(DATA) % 9 - 4}
            at |= {i: r.randrange(4), j: r.randrange(6)}
            found, holds = computed(place, at, {}), computed(condition, at, {})
            for low, high in (bounds(place), everywhere, *([given] if holds else [])):
                assert low <= found <= high, (place, condition, at)
            assert not (inside and holds) or 0 <= found < 4, (place, condition, at)
    assert proven > 100


OPEN = (n, n + 1, n * 2, n * m, m, (n + 7) // 8, n - 2, n // 4, at_most(n, 4), n + m, 4, n - 1)


def test_places_of_open_sizes():
    draw, proven = Draw(2, (), OPEN), 0
    r = draw.random
    for _ in range(260):
        loops = Index("i", r.choice(OPEN)), Index("j", r.choice(OPEN))
        draw.leaves = (*loops, loops[0], Const(1, int64), *([a] if r.random() < 0.4 else []))
        extent, condition = r.choice(OPEN), Const(True, (Const(1, int64) < 2).dtype)
        try:
            place = draw.position(r.choice((1, 2)))
            if r.random() < 0.5:
                condition = draw.condition(1)
        except Undecided:
            continue
        if not is_proven(place, extent, loops, condition):
            continue
        proven += 1
        for values in ({"n": x, "m": y} for x in (1, 2, 3, 5, 8, 9) for y in (0, 1, 3)):
            counts = [evaluate(each.extent, values) for each in loops]
            for _ in range(6 if min(counts) > 0 else 0):
                at = {each: r.randrange(count) for each, count in zip(loops, counts, strict=True)}
                at[a] = r.choice(DATA)
                if computed(condition, at, values):
                    found = computed(place, at, values)
                    assert 0 <= found < evaluate(extent, values), (place, extent, condition, at, values)
    assert proven > 25


@pytest.mark.parametrize(
    "place",
    [
        scalar.minimum(scalar.maximum(a, 6 - a), 3),
        scalar.minimum(3, scalar.maximum(a, 0) + 1),
        scalar.maximum(0, scalar.minimum(a, 3) - i),
    ],
)
def test_a_sum_of_data_that_overflows_is_at_no_known_place(place: Expr):
    """The least number of 64 bits is its own opposite, and more than the greatest one is the least."""
    always = Const(True, (Const(1, int64) < 2).dtype)
    assert not is_proven(place, 4, (i, j), always)
    open_place = scalar.minimum(Index("k", n), scalar.maximum(a, 0) + Extent(n) - 1)
    assert not is_proven(open_place, n, (Index("k", n), j), always)


def clamped(number: int) -> Expr:
    """A number of data from 0 to 3."""
    return scalar.minimum(scalar.maximum(Local(f"data{number}", int64), 0), 3)


def is_inside(extent: AnySize, *inner: Stmt) -> bool:
    """Return True if statements are proven to stay in a buffer, with 0..3 in `a` and in `b`, and a <= b."""
    body = (Let(a, clamped(0)), Let(b, clamped(1)), If(scalar.le(a, b), inner))
    return in_bounds(body, {"out": Buffer(float32, (extent,), written=True)}) is body


def test_a_condition_is_forgotten_when_a_part_of_it_changes():
    difference = Store("out", (b - a,), ONE)
    assert is_inside(4, difference)
    assert not is_inside(4, Update(a, Const(3, int64)), difference)
    assert not is_inside(4, Update(b, Const(0, int64)), difference)


def test_a_condition_proves_nothing_of_its_opposite():
    assert is_inside(n + 4, Store("out", (b - a + Extent(n),), ONE))
    assert not is_inside(n + 1, Store("out", (b - a + Extent(n),), ONE))


def test_a_condition_about_another_size():
    """A number below n - 2 is far enough from the end for two more, not for three."""
    is_below = (a >= 0) & (a < Extent(n - 2))
    for more, proven in ((0, True), (2, True), (3, False), (-1, False)):
        assert is_proven(a + more, n, (Index("k", n), j), is_below) == proven, more


def test_the_end_of_an_extent_is_outside():
    assert not is_proven(Extent(n), n, (Index("k", n), j), Const(True, (Const(1, int64) < 2).dtype))


def test_places_with_an_end_that_is_not_known_are_not_apart():
    """Positions of data may be any of those that a loop takes."""
    k, more = Index("k", n), Index("k", n) + Extent(n)
    for one, other in ((k, a), (k, scalar.maximum(a, k)), (more, scalar.minimum(a, more)), (k, more - b)):
        spans = span(linear(one)), span(linear(other))
        assert not apart(*spans) and not apart(*spans[::-1])
    assert apart(span(linear(k)), span(linear(more)))


def test_remainders_of_what_is_not_known():
    """A divisor of data has many values; by a negative one, remainders are not positive."""
    divisor = scalar.minimum(scalar.maximum(b, 2), 9)
    assert bounds(scalar.read("floormod", a, divisor)) == (0, 8)
    for by in (b, Const(-3, int64), Const(0, int64), scalar.minimum(b, 9)):
        low, high = bounds(scalar.read("floormod", a, by))
        assert low == -float("inf") and high == float("inf")


@pytest.mark.parametrize("extent", [n, n * 2, n + 1])
def test_a_clamp_of_an_open_extent(extent: Size):
    """The number read in place of a position that is not proven lies in the buffer."""
    k = Index("k", n)
    body = (Loop(k, (Store("out", (a,), ONE),)),)
    [made] = in_bounds(body, {"out": Buffer(float32, (extent,), written=True)})
    assert isinstance(made, Loop) and isinstance(made.body[0], Store)
    [place] = made.body[0].at
    for count in (1, 2, 9):
        last = evaluate(extent, {"n": count}) - 1
        for number in DATA:
            assert computed(place, {a: number}, {"n": count}) == min(max(number, 0), last)


def test_extremes_of_the_lesser_of_two_sizes():
    """Of two sizes that are not compared, either may be the lesser one."""
    one, other = Extent(n), Extent(m)
    assert extremes(scalar.minimum(one, other)) == (None, n)
    assert extremes(scalar.minimum(one, other + 4))[0] is None
    assert extremes(scalar.minimum(one, one + 4)) == extremes(scalar.minimum(one + 4, one)) == (n, n)
    assert extremes(scalar.maximum(one, one + 4)) == (n + 4, n + 4)
    low, high = extremes(scalar.minimum(Index("k", n) + one, Index("l", n)))
    assert (low, high) == (0, n - 1)


WIDE = (1 << 40, (1 << 62) + 1, HALF - 1, -HALF, -(1 << 40) - 1, 3**30)


def test_numbers_beyond_64_bits_wrap_around():
    """Positions times large numbers are numbers as machine code has them, and are compared as such."""
    r, proven = Random(3), 0
    k = Index("k", n)
    for _ in range(400):
        place: Expr = r.choice((k, i, k + i, scalar.maximum(k, 1), Const(r.choice(WIDE), int64)))
        for _ in range(r.choice((1, 2, 3))):
            wide, small = Const(r.choice(WIDE), int64), r.choice((k, i, scalar.minimum(k, 2)))
            change = (
                place * wide,
                place + wide,
                wide - place,
                place + small * wide,
                place % min(abs(wide.value), HALF - 1),
            )
            place = r.choice((*change, scalar.minimum(place, wide), scalar.maximum(place, small)))
        other = r.choice((Const(5, int64), k, place + 1))
        for made in (place, scalar.lt(place, other), scalar.eq(place, other)):
            simple = simplify_index(made)
            proven += isinstance(simple, Const)
            assert all(-HALF <= e.value < HALF for e in walk(simple) if isinstance(e, Const)), (made, simple)
            for number in range(7):
                at: dict[Expr, int] = {k: number, i: number % 4}
                wanted, found = (computed(e, at, {"n": 7}) for e in (made, simple))
                assert wanted == found, (made, simple, number)
    assert proven > 100


def test_numbers_of_data_beside_open_sizes_may_overflow():
    """The greatest number and one more is less, whatever size is added to both."""
    sum = a + Index("k", n)
    assert isinstance(simplify_index(scalar.lt(sum, sum + 1)), Scalar)
    near = scalar.minimum(scalar.maximum(a, 0), 9) + Index("k", n)
    assert simplify_index(scalar.lt(near, near + 1)) is Const(True, bool_)
