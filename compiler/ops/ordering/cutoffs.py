"""The best of a row by the key of the last one of them, which is found by halves: no order is needed for it.

    keys 7 3 9 1 4, the best 2        less than 4?  two, so the second one is below 4
                                      less than 2?  one, so it is not below 2:  it is 2 or 3  ...

Each question is a count in vector lanes. In long rows it is asked of a few keys first, each the best of its
part of the row: as many of those as are wanted are good enough, so the last of them is a bound for all.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, bool_, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Stmt, Store, Update
from staticgraph.compiler.ops.statements.strips import Body, Fresh

_PARTS = 4  # of a row for each one of the best, so that few parts have several of them
_FEWEST = 64  # parts of a row
_LEAST = 4  # keys of a part
_BLOCK = 64  # keys of which none may be among the best
_RARE = 128  # keys for each one of the best, so that most blocks have none
_SPARE = 2  # candidates for each one of the best: if there are more, all keys are counted


class Cutoff:
    """The `k` lowest keys of a row of `length`, which is at least `k`.

    `fresh` gives names to loops and locals.
    """

    def __init__(self, length: int, k: int, dtype: DType, fresh: Fresh) -> None:
        self.length, self.k, self.dtype, self.fresh = length, k, dtype, fresh
        self.last = fresh.local("cutoff", dtype)
        self.less = fresh.local("less", int32)
        self.found = fresh.local("candidates", int64)
        parts = max(_FEWEST, 1 << (_PARTS * k - 1).bit_length())
        self.parts = parts if parts * _LEAST <= length else 0

    @property
    def room(self) -> int:
        """Keys in scratch memory: a power of two, as a place cut to its bits is sure to lie in there."""
        return 1 << self.length.bit_length()

    @property
    def scratch(self) -> dict[str, Buffer]:
        """The memory for the keys, those of parts, and the columns of candidates."""
        shapes = {"row_keys": (self.dtype, self.room), "candidate_columns": (int32, self.room)}
        if self.parts:
            shapes["part_keys"] = self.dtype, self.parts
        return {
            name: Buffer(dtype, (size,), written=True, local=True) for name, (dtype, size) in shapes.items()
        }

    def key(self, column: Expr) -> Load:
        """The key in a column."""
        return Load("row_keys", (column & (self.room - 1),), self.dtype)

    def column(self, candidate: Expr) -> Load:
        """The column of a candidate."""
        return Load("candidate_columns", (candidate & (self.room - 1),), int32)

    def filled(self, key: Callable[[Expr], Expr]) -> Body:
        """Statements that write the keys."""
        return (self.fresh.lanes(self.length, lambda i: (Store("row_keys", (i,), key(i)),)),)

    def bound(self) -> Body:
        """Statements that define `last`, the key number `k` or a greater one, and `less`, those below it."""
        zero, none = Const(0, self.dtype), Const(0, int32)
        exact = self._by_halves("row_keys", self.length)
        count = self._lower(self.length, self.last, self.less)
        begin = (Let(self.last, zero), Let(self.less, none))
        if not self.parts:
            return (*begin, exact, count)
        again = Update(self.last, zero), exact, Update(self.less, none), count
        return (
            self._parted(),
            *begin,
            self._by_halves("part_keys", self.parts),
            self._lower(self.length, self.last, self.less),
            If(self.less > Const(_SPARE * self.k, int32), again),
        )

    def candidates(self) -> Body:
        """Statements that write the columns of keys below `last`, and define `found`, their number."""

        def one(column: Expr) -> Body:
            lower = Load("row_keys", (column,), self.dtype) < self.last
            return (
                Store("candidate_columns", (self.found & (self.room - 1),), scalar.cast(column, int32)),
                Update(self.found, self.found + scalar.cast(lower, int64)),
            )

        each = self._scanned(one, scalar.lt) if self.k * _RARE <= self.length else self._each(one)
        return (Let(self.found, Const(0, int64)), *each)

    def equal(self, put: Callable[[Expr, Expr, Expr], Body]) -> Body:
        """Statements that do `put(place, last, column)` for keys that are `last` and among the best."""
        place = self.fresh.local("equal_place", int64)

        def one(column: Expr) -> Body:
            is_one = scalar.eq(Load("row_keys", (column,), self.dtype), self.last) & (place < self.k)
            write = put(place, self.last, scalar.cast(column, int32))
            return (If(is_one, (*write, Update(place, place + 1))),)

        scan = (Let(place, scalar.cast(self.less, int64)), *self._scanned(one, scalar.eq))
        return (If(self.less < Const(self.k, int32), scan),)

    def _each(self, one: Callable[[Expr], Body]) -> Body:
        return (self.fresh.each(self.length, one),)

    def _scanned(self, one: Callable[[Expr], Body], wanted: Callable[[Expr, Expr], Expr]) -> Body:
        """`one(column)` for all columns in blocks that have a key `wanted(key, last)`."""
        blocks, rest = divmod(self.length, _BLOCK)

        def block(number: Index) -> Body:
            some, first = self.fresh.local("some", bool_), number * _BLOCK

            def test(i: Index) -> Body:
                hit = wanted(Load("row_keys", (first + i,), self.dtype), self.last)
                return (Update(some, some | hit, "or"),)

            return (
                Let(some, Const(False, bool_)),
                self.fresh.lanes(_BLOCK, test),
                If(some, (self.fresh.each(_BLOCK, lambda i: one(first + i)),)),
            )

        last = self.fresh.each(rest, lambda i: one(i + blocks * _BLOCK))
        return (*((self.fresh.each(blocks, block, "block"),) if blocks else ()), *((last,) if rest else ()))

    def _parted(self) -> Loop:
        """Write the lowest key of each part, in which columns are `parts` apart."""
        low, part = self.fresh.local("low", self.dtype), self.fresh.index("part", self.parts)
        further = self.fresh.index("further", self.length // self.parts - 1)
        other = Load("row_keys", ((further + 1) * self.parts + part,), self.dtype)
        body: tuple[Stmt, ...] = (
            Let(low, Load("row_keys", (part,), self.dtype)),
            Loop(further, (Update(low, scalar.minimum(low, other)),)),
            Store("part_keys", (part,), low),
        )
        return Loop(part, body, LoopKind.SIMD)

    def _by_halves(self, name: str, length: int) -> Loop:
        """Set `last`, which is 0, to the key number `k` of some."""
        bits = 8 * self.dtype.size
        trial, below = self.fresh.local("trial", self.dtype), self.fresh.local("below", int32)

        def bit(number: Index) -> Body:
            top = Const(1 << (bits - 1), self.dtype)
            return (
                Let(trial, self.last | (top >> scalar.cast(number, self.dtype))),
                Let(below, Const(0, int32)),
                self._lower(length, trial, below, name),
                Update(self.last, scalar.select(below < Const(self.k, int32), trial, self.last)),
            )

        return self.fresh.each(bits, bit, "bit")

    def _lower(self, length: int, limit: Local, total: Local, name: str = "row_keys") -> Loop:
        """Add how many keys are lower than a limit."""

        def one(i: Index) -> Body:
            lower = scalar.cast(Load(name, (i,), self.dtype) < limit, int32)
            return (Update(total, total + lower, "add"),)

        return self.fresh.lanes(length, one)
