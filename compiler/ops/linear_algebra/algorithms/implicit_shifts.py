"""QR iterations with implicit shifts, which make diagonals of tridiagonal and bidiagonal matrices.

A sweep of an iteration chases a bulge down a block. It takes little time itself, and is written for one
thread, in double precision. What takes time is what it does to vectors: a rotation of two neighbouring ones
for each row. So sweeps record their rotations, and vectors are rotated by many of them at once, each strip of
them by itself (Van Zee, van de Geijn and Quintana-Orti, 2014).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, float32, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, at_most, proven
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store, Update, While
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import wide_dtype
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import scaled_by
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch, Strips, clamped, whole

_PER_NUMBER = 30  # sweeps; two are usual
_NOTHING = 2.0**-1000  # sums of squares below that are none
_MANY = 288  # rows; with fewer, vectors are rounded seldom, and small matrices cost more than they do
_AT_ONCE = 4  # strips of vectors that are rotated at the same time
_AT_ONCE_OF_MANY = 2  # the same if their number is open: there may be only one, and then one is for nothing


class Sweeps:
    """The diagonal of a matrix of `n` rows, what stands beside it, and the rotations that have been made.

    Args:
        n: The number of rows.
        dtype: That of vectors.
        sides: How many sets of vectors are rotated: 0 if only the numbers are wanted, one of a symmetric
            matrix, two if it is bidiagonal.
        bidiagonal: True if the matrix has numbers above its diagonal only, or else below it the same ones.
        local: True if one thread does all of it.
    """

    def __init__(self, fresh: Fresh, n: int, dtype: DType, sides: int, bidiagonal: bool, local: bool) -> None:
        self.fresh, self.n, self.dtype, self.wide = fresh, n, dtype, wide_dtype(dtype)
        self.real, self.sides, self.bidiagonal, self.local = dtype.real_dtype, sides, bidiagonal, local
        self.room = n * (n + 1)  # rotations that are
        # Many rotations of float32 are multiplied before vectors are (`accumulated_rotations.py`).
        self.accumulated = dtype is float32 and proven(operator.ge, n, _MANY)
        # Of an open number of rows, a run tells. For both sides of singular vectors, both ways would take a
        # quarter longer to compile: those are rotated one by one.
        is_known = self.accumulated or proven(operator.lt, n, _MANY)
        self.depends = dtype is float32 and sides == 1 and not is_known
        self.most = n if self.accumulated else 4 * n  # sweeps that are recorded
        self.turned = self.wide if self.accumulated or self.depends else self.real  # the dtype of rotations
        self.eps = 2.0**-30 if self.real is float32 else 2.0**-52

    @property
    def has_many(self) -> Expr:
        """True if an open number of rows turns out to be so many that rotations are multiplied first."""
        return scalar.ge(whole(self.n), _MANY)

    @property
    def many(self) -> AnySize:
        """The same as a size, 1 or 0: the trip count of what is done for many rows alone."""
        return at_most(self.n // _MANY, 1) if self.depends else 1

    def buffers(self) -> Scratch:
        """The scratch memory."""
        place: dict[str, Any] = {"written": True, "local": self.local, "shared": True}
        made = {
            "diagonal": Buffer(self.wide, (clamped(self.n),), **place),
            "beside": Buffer(self.wide, (self.n + 1,), **place),
            "state": Buffer(int64, (3,), **place),
        }
        if self.sides:
            made["sweeps"] = Buffer(int64, (clamped(self.most), 3), **place)
            made["rotations"] = Buffer(self.turned, (clamped(self.room), self.sides, 2), **place)
        return made

    def diagonal(self, i: Expr) -> Load:
        """A number of the diagonal."""
        return Load("diagonal", (i,), self.wide)

    def beside(self, i: Expr) -> Load:
        """The number that belongs to rows `i - 1` and `i`."""
        return Load("beside", (i,), self.wide)

    def put(self, name: str, i: Expr | int, value: Expr) -> Store:
        """Store a number of the diagonal, or beside it."""
        return Store(name, (whole(i),), value)

    def begun(self) -> Body:
        """Begin with the whole matrix. The number beside the first row, which is none, becomes zero."""
        zero = Const(0, int64)
        return (
            self.put("beside", 0, Const(0.0, self.wide)),
            self.put("beside", self.n, Const(0.0, self.wide)),
            Store("state", (zero,), whole(self.n - 1)),
            Store("state", (Const(1, int64),), whole(_PER_NUMBER * self.n)),
        )

    def _state(self, i: int) -> Load:
        return Load("state", (Const(i, int64),), int64)

    @property
    def unfinished(self) -> Expr:
        """True as long as the iteration has not converged."""
        return self._state(0) > 0

    @property
    def recorded(self) -> Load:
        """The number of sweeps that are recorded."""
        return self._state(2)

    def of_sweep(self, number: Expr, part: int) -> Load:
        """The first row of a sweep, its last one, or the place of its first rotation."""
        return Load("sweeps", (number, Const(part, int64)), int64)

    def rotation(self, at: Expr, side: Expr | int, part: int) -> Load:
        """The cosine of a rotation for vectors of a side, or its sine."""
        return Load("rotations", (at, whole(side), Const(part, int64)), self.turned)

    def finished(self, units: Sequence[Loop], rotate: Callable[[], Body]) -> Body:
        """Iterate until the matrix is diagonal; `rotate` is what is done with recorded rotations.

        Only these need the vectors. So the parallel loops `units`, which make them, may run beside the first
        sweeps.
        """

        def in_round(number: Index) -> Body:
            made = (replace(loop, body=(If(scalar.eq(number, 0), loop.body),)) for loop in units)
            return (*made, *self.iterated(), *rotate())

        return (self.fresh.each(_PER_NUMBER, in_round, "round"),)

    def iterated(self) -> Body:
        """Sweep until the matrix is diagonal, or until no more rotations can be recorded."""
        fresh, wide = self.fresh, self.wide
        last, budget, count, used, more, first, least, norm, alone, fits = (
            fresh.local(name, dtype)
            for name, dtype in (
                ("last", int64), ("budget", int64), ("count", int64), ("used", int64), ("more", int64),
                ("first", int64), ("least", wide), ("norm", wide), ("alone", int64), ("fits", int64),
            )
        )  # fmt: skip
        none, one = Const(0, int64), Const(1, int64)
        floor = norm * (self.eps / 16)
        most = scalar.select(self.has_many, whole(self.n), whole(self.most)) if self.depends else self.most
        room = (used + (last - first) <= self.room) & (count < most) if self.sides else one > 0
        record: Body = ()
        if self.sides:
            parts = enumerate((first, last, used))
            record = tuple(Store("sweeps", (count, Const(at, int64)), value) for at, value in parts)
        sweep = self._bidiagonal if self.bidiagonal else self._tridiagonal
        sweeps: Body = (
            Let(last, self._state(0)),
            Let(budget, self._state(1)),
            Let(count, none),
            Let(used, none),
            Let(more, one),
            *self._largest_row(norm),
            While(
                (last > 0) & (more > 0),
                (
                    *self._block(first, last, least, floor),
                    Let(alone, scalar.select(scalar.eq(first, last), one, none)),
                    Let(fits, scalar.select(room & (budget > 0), one, none)),
                    If(alone > 0, (Update(last, last - 1),)),
                    If(
                        (alone < 1) & (fits > 0),
                        (
                            *sweep(first, last, used, least <= floor),
                            *record,
                            Update(count, count + 1),
                            Update(used, used + (last - first)),
                            Update(budget, budget - 1),
                        ),
                    ),
                    If((alone < 1) & (fits < 1), (Update(more, none),)),
                ),
            ),
            Store("state", (none,), last),
            Store("state", (one,), budget),
            Store("state", (Const(2, int64),), count),
        )
        return Store("state", (Const(2, int64),), none), If(self.unfinished, sweeps)

    def _largest_row(self, norm: Local) -> Body:
        """Set `norm` to the largest sum of a number of the diagonal and the one beside it."""

        def larger(i: Index) -> Body:
            size = scalar.abs(self.diagonal(i)) + scalar.abs(self.beside(i))
            value = self.fresh.local("size", self.wide)
            return Let(value, size), Update(norm, scalar.select(value > norm, value, norm))

        return Let(norm, Const(0.0, self.wide)), self.fresh.each(self.n, larger)

    def _block(self, first: Local, last: Local, least: Local, floor: Expr) -> Body:
        """Set `first` to the first row of the block that ends with row `last`, and cut the block off there.

        Rows of a block are coupled: what stands beside the diagonal is more than rounding and than `floor`.
        `least` becomes the smallest number of its diagonal.
        """
        before = scalar.maximum(first - 1, 0)
        entry = scalar.abs(self.diagonal(before))
        neighbours = scalar.abs(self.diagonal(first)) + entry
        coupled = scalar.abs(self.beside(first)) > neighbours * self.eps + floor
        lower = Update(least, scalar.select(entry < least, entry, least))
        return (
            Let(first, last),
            Let(least, scalar.abs(self.diagonal(last))),
            While(coupled, (lower, Update(first, first - 1))),
            Store("beside", (first,), Const(0.0, self.wide)),
        )

    def _inverse_norm(self, f: Expr, g: Expr) -> tuple[Local, Local, Expr, Body]:
        """1 / sqrt(f * f + g * g), the root itself, and a condition: both numbers are next to nothing.

        Then the results are zeros. A sweep waits for each of them. So the root and the reciprocal of the sum
        begin at the same time.
        """
        square, inverse, norm = (self.fresh.local(name, self.wide) for name in ("square", "inverse", "norm"))
        none = square < Const(_NOTHING, self.wide)  # false for NaN
        zero = Const(0.0, self.wide)
        root = self.fresh.local("root", self.wide)
        lets = (
            Let(square, f * f + g * g),
            Let(root, scalar.sqrt(square)),
            Let(inverse, scalar.select(none, zero, (1.0 / square) * root)),
            Let(norm, scalar.select(none, zero, root)),
        )
        return inverse, norm, none, lets

    def _rotation(self, f: Expr, g: Expr) -> tuple[Local, Local, Local, Body]:
        """The cosine and the sine of the rotation that makes (r, 0) of (f, g), and r.

        In double precision they are quotients: then the cosine of a rotation of next to nothing is exactly 1.
        """
        c, s = (self.fresh.local(name, self.wide) for name in ("c", "s"))
        inverse, r, none, lets = self._inverse_norm(f, g)
        zero, one = Const(0.0, self.wide), Const(1.0, self.wide)
        if self.wide is self.real:
            divisor = self.fresh.local("divisor", self.wide)
            lets += (Let(divisor, scalar.select(none, one, r)),)
            return c, s, r, (*lets, Let(c, scalar.select(none, one, f / divisor)), Let(s, g / divisor))
        return c, s, r, (*lets, Let(c, f * inverse + scalar.select(none, one, zero)), Let(s, g * inverse))

    def _recorded(self, at: Expr, side: int, c: Expr, s: Expr) -> Body:
        """Store a rotation for vectors of a side; in double precision without what it would stretch them."""
        if side >= self.sides:
            return ()
        lets: Body = ()
        numbers: tuple[Expr, Expr] = (c, s)
        if self.wide is self.real:
            half = self.fresh.local("half", self.wide)
            lets = (Let(half, ((c * c - 1.0) + s * s) * 0.5),)
            numbers = c - c * half, s - s * half
        values = enumerate(numbers)
        return lets + tuple(
            Store("rotations", (at, whole(side), Const(part, int64)), scalar.cast(x, self.turned))
            for part, x in values
        )

    def _rows(self, first: Expr, last: Expr, body: Callable[[Index], Body]) -> Loop:
        return self.fresh.between(first, last, self.n, body, "row")

    def _tridiagonal(self, first: Local, last: Local, used: Expr, _: Expr) -> Body:
        """A sweep with Wilkinson's shift."""
        fresh, wide = self.fresh, self.wide
        p, g, c, s, ratio, beyond = (fresh.local(x, wide) for x in ("p", "g", "cosine", "sine", "ratio", "e"))
        carried_f, carried_b = (fresh.local(x, wide) for x in ("bulge", "beside"))
        zero, one = Const(0.0, wide), Const(1.0, wide)

        def row(i: Index) -> Body:
            f, b, here, rest = (fresh.local(name, wide) for name in ("f", "b", "here", "rest"))
            inverse, r, none, lets = self._inverse_norm(f, g)
            b_next, f_next = (fresh.local(name, wide) for name in ("b_next", "f_next"))
            following = self.beside(i + 2)

            def unless(value: Expr) -> Expr:
                """`value` if there is nothing to rotate, else nothing."""
                return scalar.select(none, value, zero)

            return (
                Let(f, carried_f),
                Let(b, carried_b),
                *lets,
                self.put("beside", i, scalar.select(scalar.eq(i, first), zero, r)),
                Let(here, self.diagonal(i) - p),
                # What follows is written so that little waits for `inverse`.
                Let(rest, ((self.diagonal(i + 1) - here) * f + 2.0 * (g * b)) * inverse + unless(2.0 * b)),
                Update(c, g * inverse + unless(one)),
                Update(s, f * inverse),
                Update(p, s * rest),
                self.put("diagonal", i, here + p),
                Let(f_next, (f * following) * inverse),
                Let(b_next, (g * following) * inverse + unless(following)),
                *self._recorded(used + (i - first), 0, c, s),
                Update(g, c * rest - b),
                Update(carried_f, f_next),
                Update(carried_b, b_next),
            )

        norm = scalar.sqrt(ratio * ratio + 1.0)
        away = ratio + scalar.select(ratio < 0.0, -norm, norm)
        return (
            Let(beyond, self.beside(last)),
            Let(ratio, (self.diagonal(last - 1) - self.diagonal(last)) / (2.0 * beyond)),
            Let(g, self.diagonal(first) - self.diagonal(last) + beyond / away),
            Let(p, zero),
            Let(c, one),
            Let(s, one),
            Let(carried_f, self.beside(first + 1)),
            Let(carried_b, self.beside(first + 1)),
            self._rows(first, last, row),
            self.put("diagonal", last, self.diagonal(last) - p),
            self.put("beside", last, g),
        )

    def _bidiagonal(self, first: Local, last: Local, used: Expr, singular: Expr) -> Body:
        """A sweep of Golub and Kahan, whose shift is the lesser singular value of the last two rows.

        If the block is `singular`, there is none (Demmel and Kahan, 1990).
        """
        fresh, wide = self.fresh, self.wide
        f, g, shift, start = (fresh.local(name, wide) for name in ("f", "g", "shift", "start"))
        before, end, corner = (fresh.local(name, wide) for name in ("before", "end", "corner"))
        zero, one = Const(0.0, wide), Const(1.0, wide)

        def row(i: Index) -> Body:
            here, above, following = (fresh.local(name, wide) for name in ("here", "above", "following"))
            right_c, right_s, r, right = self._rotation(f, g)
            turned, kept = fresh.local("turned", wide), fresh.local("kept", wide)
            bulge, lower = fresh.local("bulge", wide), fresh.local("lower", wide)
            left_c, left_s, diagonal, left = self._rotation(turned, bulge)
            return (
                Let(here, self.diagonal(i)),
                Let(above, self.beside(i + 1)),
                Let(following, self.diagonal(i + 1)),
                *right,
                self.put("beside", i, scalar.select(scalar.eq(i, first), zero, r)),
                Let(turned, right_c * here + right_s * above),
                Let(kept, right_c * above - right_s * here),
                Let(bulge, right_s * following),
                Let(lower, right_c * following),
                *left,
                self.put("diagonal", i, diagonal),
                Update(f, left_c * kept + left_s * lower),
                self.put("diagonal", i + 1, left_c * lower - left_s * kept),
                # The number behind the block is zero, and stays so.
                Update(g, left_s * self.beside(i + 2)),
                self.put("beside", i + 2, left_c * self.beside(i + 2)),
                *self._recorded(used + (i - first), 0, right_c, right_s),
                *self._recorded(used + (i - first), 1, left_c, left_s),
            )

        sums = [a + b for a, b in ((before, end), (before, -end))]
        largest = sum((scalar.sqrt(x * x + corner * corner) for x in sums), zero) * 0.5
        usable = scalar.eq(start, 0.0) | singular
        least = before * end / largest
        size = scalar.abs(start)
        shifted = (size - shift) * (
            scalar.select(start < 0.0, -one, one) + shift / scalar.select(usable, one, start)
        )
        return (
            Let(start, self.diagonal(first)),
            Let(before, scalar.abs(self.diagonal(last - 1))),
            Let(end, scalar.abs(self.diagonal(last))),
            Let(corner, self.beside(last)),
            Let(shift, scalar.select(usable, zero, least)),
            Let(f, scalar.select(usable, start, shifted)),
            Let(g, self.beside(first + 1)),
            self._rows(first, last, row),
            self.put("beside", last, f),
        )

    # What the rotations do to vectors.

    @staticmethod
    def padded(strips: AnySize) -> tuple[int, AnySize]:
        """The number of strips of vectors that are rotated at the same time, and a multiple of it for all."""
        if isinstance(strips, Size):
            return _AT_ONCE_OF_MANY, -(-strips // _AT_ONCE_OF_MANY) * _AT_ONCE_OF_MANY
        groups = -(-strips // _AT_ONCE)
        at_once = -(-strips // groups)
        return at_once, groups * at_once

    def rotated(self, q: Strips, sides: int) -> Loop:
        """Rotate vectors, the rows of `q`, by what has been recorded. Strips of a side follow each other."""
        at_once, _ = self.padded(-(-self.n // q.width))
        group = self.fresh.index("group", q.count // at_once)
        side = group // (q.count // sides // at_once)
        strips = [group * at_once + k for k in range(at_once)]

        def sweep(number: Index) -> Body:
            first, last, used = (self.fresh.local(name, int64) for name in ("first", "last", "used"))

            def lanes(lane: Index) -> Body:
                carried = [self.fresh.local("carried", self.dtype) for _ in strips]

                def row(i: Index) -> Body:
                    at = used + (i - first)
                    c, s = (self.fresh.local(name, self.real) for name in ("c", "s"))
                    lets = (
                        Let(local, scalar.cast(self.rotation(at, side, part), self.real))
                        for part, local in enumerate((c, s))
                    )
                    following = [self.fresh.local("following", self.dtype) for _ in strips]
                    loads = (
                        Let(x, q.at(strip, i + 1, lane)) for x, strip in zip(following, strips, strict=True)
                    )
                    done = (
                        stmt
                        for old, x, strip in zip(carried, following, strips, strict=True)
                        for stmt in (
                            q.put(strip, i, lane, scaled_by(c, old) + scaled_by(s, x)),
                            Update(old, scaled_by(c, x) - scaled_by(s, old)),
                        )
                    )
                    return (*lets, *loads, *done)

                return (
                    *(Let(x, q.at(strip, first, lane)) for x, strip in zip(carried, strips, strict=True)),
                    self._rows(first, last, row),
                    *(q.put(strip, last, lane, x) for x, strip in zip(carried, strips, strict=True)),
                )

            lets = (
                Let(local, self.of_sweep(number, part)) for part, local in enumerate((first, last, used))
            )
            return (*lets, q.lanes(lanes))

        count = self.fresh.local("count", int64)
        loop = self.fresh.between(0, count, self.most, sweep, "sweep")
        recorded: Expr = self.recorded
        if self.depends:
            recorded = scalar.select(self.has_many, 0, recorded)
        return Loop(group, (Let(count, recorded), loop), LoopKind.PARALLEL)
