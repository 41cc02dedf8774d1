"""Proofs about positions that change in loops and branches hold at every moment of a run.

Random bodies of loops, conditions and counters are proven, and then run: no store leaves its buffer.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.indices.in_bounds import OutOfBoundsError, in_bounds
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Stmt, Store, Update, While, statements
from tests.kernel.test_sound_proofs import DATA, Draw, computed

COUNTERS = tuple(Local(name, int64) for name in "abc")
DATUM = Local("datum", int64)
EXTENT = 6
OUT = {"out": Buffer(float32, (EXTENT,), written=True)}
MOST = 200  # statements that are run: what a loop without end does until then is seen, too


class Body(Draw):
    """Draws bodies over a few counters, most of which move by little."""

    def __init__(self, random: Random) -> None:
        super().__init__(0, (*COUNTERS, *COUNTERS, DATUM, Const(0, int64), Const(5, int64)), (4, EXTENT))
        self.random, self.loops = random, 0

    def value(self) -> Expr:
        """The next value of a counter."""
        r = self.random
        one, other = r.choices(COUNTERS, k=2)
        return r.choice(
            (
                one + r.choice((-2, -1, 1, 3)), Const(r.randrange(-1, 7), int64), one * 2 - r.randrange(3),
                scalar.minimum(one + 1, other), scalar.maximum(one - 1, other), EXTENT - 1 - one, one // 2,
                scalar.minimum(scalar.maximum(DATUM, -1), 4), self.position(1), other,
            )
        )  # fmt: skip

    def test(self) -> Expr:
        """A condition, most often on one counter."""
        r, one = self.random, self.random.choice(COUNTERS)
        compare = r.choice((scalar.lt, scalar.le, scalar.gt, scalar.ge))
        first = compare(one, r.randrange(-1, EXTENT + 1))
        second = self.condition(0) if r.random() < 0.2 else scalar.ge(r.choice(COUNTERS), r.randrange(3))
        return r.choice((first, first, first & second, first | second))

    def drawn(self, depth: int) -> tuple[Stmt, ...]:
        """A few statements, nested so many times at most."""
        return tuple(self.statement(depth) for _ in range(self.random.randrange(1, 4)))

    def statement(self, depth: int) -> Stmt:
        r = self.random
        kind = r.choice("uuuss" + "iwl" * (depth > 0))
        if kind == "u":
            return Update(r.choice(COUNTERS), self.value())
        if kind == "s":
            return Store("out", (r.choice((*COUNTERS, *COUNTERS, self.value())),), Const(1.0, float32))
        if kind == "l":
            self.loops += 1
            return Loop(Index(f"i{self.loops}", r.randrange(4)), self.drawn(depth - 1))
        return (If if kind == "i" else While)(self.test(), self.drawn(depth - 1))


class Stopped(Exception):
    """A run took all the statements that it may."""


class Run:
    """Runs statements on numbers, and notes the positions that are stored to."""

    def __init__(self, at: dict[Expr, int]) -> None:
        self.at, self.left = at, MOST
        self.stored: set[int] = set()

    def block(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        self.left -= 1
        if not self.left:
            raise Stopped
        match stmt:
            case Let(local, value) | Update(local, value):
                self.at[local] = computed(value, self.at, {})
            case Store(_, (place,)):
                self.stored.add(computed(place, self.at, {}))
            case If(condition, inside):
                if computed(condition, self.at, {}):
                    self.block(inside)
            case While(condition, inside):
                while computed(condition, self.at, {}):
                    self.left -= 1
                    self.block(inside)
                    if self.left <= 0:
                        raise Stopped
            case Loop(index, inside):
                for number in range(index.extent):
                    self.at[index] = number
                    self.block(inside)


def places(body: tuple[Stmt, ...]) -> list[Expr]:
    return [s.at[0] for s in statements(body) if isinstance(s, Store)]


def test_no_store_of_a_random_body_leaves_its_buffer():
    random, outcomes = Random(3), Counter[str]()
    for _ in range(600):
        first = tuple(Let(c, Const(random.randrange(-1, EXTENT), int64)) for c in COUNTERS)
        body = (*first, *Body(random).drawn(3))
        try:
            made = in_bounds(body, OUT)
        except OutOfBoundsError:
            outcomes["refused"] += 1
            continue
        same = zip(places(body), places(made), strict=True)
        outcomes.update("proven" if before is after else "clamped" for before, after in same)
        for datum in random.choices(DATA, k=3):
            run = Run({DATUM: datum})
            try:
                run.block(made)
            except Stopped:
                outcomes["stopped"] += 1
            assert not run.stored or 0 <= min(run.stored) <= max(run.stored) < EXTENT, (datum, made)
    assert min(outcomes["proven"], outcomes["clamped"], outcomes["stopped"]) > 100, outcomes
