"""Jacobi's rotations for batches of small matrices, as statements of the kernel IR: each lane has a matrix.

A rotation of rows p and q, and one of columns p and q, make the numbers (p, q) and (q, p) zero. In a sweep
all pairs have their turn, and after a few sweeps the matrix is diagonal. Eigenvalues take the same rotation
for rows and columns (Jacobi, 1846), singular values two (Kogbetliantz, 1955). If what they would make zero is
nothing beside the largest number, both leave a matrix as it is, so a matrix does not depend on those in the
other lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from staticgraph.compiler.graph.dtypes import DType, float32, int64
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, number
from staticgraph.compiler.kernel.stmt import (
    ALIGNMENT,
    Buffer,
    If,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.compiler.ops.kinds import Described
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import scale_of, unscale_of
from staticgraph.compiler.ops.linear_algebra.algorithms.spectra import ranked, sign_of
from staticgraph.compiler.ops.statements.strips import Body, Fresh

_SWEEPS = 30  # at the most; five to eight are usual

Batch = tuple[Expr, ...]
# The sine, the tangent of half the angle, the sign of the second row.
_Turn = tuple[Local, Local, Local | None]
PutValue = Callable[[Batch, Expr, Expr], Store]  # the store of a value of a matrix at a place
PutVector = Callable[[Batch, Expr, Expr, Expr], Store]  # that of a number of a vector at a row and a column


def decomposed(
    n: int,
    batch: Sequence[AnySize],
    matrix: Callable[[Batch, Expr, Expr], Expr],
    put_value: PutValue,
    put_left: PutVector | None,
    put_right: PutVector | None,
    symmetric: bool,
    dtype: DType,
) -> Described:
    """Find eigenvalues in rising order, or singular values in falling one, of each matrix of a batch.

    Args:
        n: The number of rows.
        batch: The sizes of the batch.
        matrix: The numbers of a matrix; of a symmetric one those up to the diagonal are asked for.
        put_value: Stores a value.
        put_left: Stores a number of a left singular vector, which are columns; None: they are not wanted.
        put_right: The same for right ones, and for eigenvectors.
        symmetric: True for eigenvalues.
        dtype: That of the numbers.

    Returns:
        The statements. All results of a matrix are NaN if a number of it is not finite.
    """
    return _Jacobi(n, batch, dtype, symmetric, put_left is not None, put_right is not None).made(
        matrix, put_value, put_left, put_right
    )


class _Jacobi:
    def __init__(
        self, n: int, batch: Sequence[AnySize], dtype: DType, symmetric: bool, left: bool, right: bool
    ) -> None:
        self.n, self.batch, self.dtype, self.symmetric = n, batch, dtype, symmetric
        self.fresh = Fresh()
        self.count: AnySize = math.prod(batch)
        most = ALIGNMENT // dtype.size
        self.width = min(self.count, most) if isinstance(self.count, int) else most
        self.vectors = [name for name, wanted in (("u", left), ("v", right)) if wanted]
        self.zero, self.one = Const(0.0, dtype), Const(1.0, dtype)

    def made(
        self,
        matrix: Callable[[Batch, Expr, Expr], Expr],
        put_value: PutValue,
        put_left: PutVector | None,
        put_right: PutVector | None,
    ) -> Described:
        n, width, dtype = self.n, self.width, self.dtype
        square = Buffer(dtype, (n, n, width), written=True, local=True)
        line = Buffer(dtype, (width,), written=True, local=True)
        scratch = dict.fromkeys(("a", *self.vectors), square)
        scratch |= dict.fromkeys(("largest", "bad", "limit", "rotated"), line)
        scratch |= {
            "values": Buffer(dtype, (n, width), written=True, local=True),
            "ranks": Buffer(int64, (n,), written=True, local=True),
        }
        groups = -(-self.count // width)
        group = self.fresh.index("group", groups)
        sweep, more = self.fresh.local("sweep", int64), self.fresh.local("more", dtype)
        sweeps: Body = (
            Let(sweep, Const(0, int64)),
            While(
                (sweep < _SWEEPS) & (more > 0.0),
                (
                    self._lanes(lambda lane: (Store("rotated", (lane,), self.zero),)),
                    self.fresh.each(n - 1, self._row, "p"),
                    Update(more, self.zero),
                    self.fresh.each(width, lambda lane: (Update(more, more + self._at("rotated", lane)),)),
                    Update(sweep, sweep + 1),
                ),
            ),
        )
        body: Body = (
            self.fresh.each(width, lambda lane: self._read(group, lane, matrix), "lane"),
            self._lanes(self._begin),
            Let(more, self.zero if n == 1 else self.one),
            *(() if n == 1 else sweeps),
            self._lanes(lambda lane: self._finish(lane, more)),
            self.fresh.each(
                width, lambda lane: self._written(group, lane, put_value, put_left, put_right), "lane"
            ),
        )  # fmt: skip
        return Described((Loop(group, body, LoopKind.PARALLEL),), scratch=scratch)

    def _lanes(self, body: Callable[[Index], Body]) -> Loop:
        return self.fresh.lanes(self.width, body)

    def _number(self, name: str, i: Expr, j: Expr, lane: Expr) -> Load:
        return Load(name, (i, j, lane), self.dtype)

    def _at(self, name: str, lane: Expr) -> Load:
        return Load(name, (lane,), self.dtype)

    def _place(self, where: Expr) -> Batch:
        """The place of a matrix in the batch, by its number."""
        place: list[Expr] = []
        for size in reversed(self.batch):
            place.append(where % number(size, int64))
            where = where // number(size, int64)
        return tuple(reversed(place))

    def _read(self, group: Index, lane: Index, matrix: Callable[[Batch, Expr, Expr], Expr]) -> Body:
        """Copy a matrix into a lane; beyond the batch the last one again, of which nothing is stored."""
        largest, bad, here = (self.fresh.local(name, t) for name, t in
                                (("largest", self.dtype), ("bad", self.dtype), ("here", int64)))  # fmt: skip
        place = self._place(here)

        def element(i: Index, j: Index) -> Body:
            value, size = self.fresh.local("value", self.dtype), self.fresh.local("size", self.dtype)
            at = (scalar.maximum(i, j), scalar.minimum(i, j)) if self.symmetric else (i, j)
            unit = scalar.select(scalar.eq(i, j), self.one, self.zero)
            return (
                Let(value, matrix(place, *at)),
                Let(size, scalar.abs(value)),
                Update(largest, scalar.select(size > largest, size, largest)),
                Update(bad, bad + value * 0.0),
                Store("a", (i, j, lane), value),
                *(Store(name, (i, j, lane), unit) for name in self.vectors),
            )

        return (
            Let(here, scalar.minimum(group * self.width + lane, number(self.count, int64) - 1)),
            Let(largest, self.zero),
            Let(bad, self.zero),
            self.fresh.each(self.n, lambda i: (self.fresh.each(self.n, lambda j: element(i, j), "j"),)),
            Store("largest", (lane,), largest),
            Store("bad", (lane,), bad),
        )

    def _begin(self, lane: Index) -> Body:
        """Scale the matrices, and find what counts as zero."""
        scale, largest = self.fresh.local("scale", self.dtype), self._at("largest", lane)
        small = 2.0**-26 if self.dtype is float32 else 2.0**-55

        def element(i: Index, j: Index) -> Body:
            return (Store("a", (i, j, lane), self._number("a", i, j, lane) * scale),)

        return (
            Let(scale, scale_of(largest, self.dtype)),
            Store("limit", (lane,), largest * scale * small),
            self.fresh.each(self.n, lambda i: (self.fresh.each(self.n, lambda j: element(i, j), "j"),)),
        )

    def _row(self, p: Index) -> Body:
        end = Const(self.n, int64)
        return (
            self.fresh.between(
                p + 1, end, self.n, lambda q: (self._lanes(lambda lane: self._rotation(p, q, lane)),), "q"
            ),
        )

    def _rotation(self, p: Expr, q: Expr, lane: Index) -> Body:
        """Make the numbers (p, q) and (q, p) zero."""
        stmts: list[Stmt] = []

        def let(value: Expr) -> Local:
            local = self.fresh.local("n", value.dtype)
            stmts.append(Let(local, value))
            return local

        zero, one = self.zero, self.one
        first, upper, last = (let(self._number("a", *at, lane)) for at in ((p, p), (p, q), (q, q)))
        size: Expr = scalar.abs(upper)
        symmetrizing: tuple[Local, Local, Local] | None = None
        x, y, z = first, upper, last
        if not self.symmetric:
            lower = let(self._number("a", q, p, lane))
            size = size + scalar.abs(lower)
            symmetrizing = sign, cosine, sine = self._symmetrizing(let, first, upper, lower, last)
            x = let(cosine * first + sine * (sign * lower))
            y = let(cosine * upper + sine * (sign * last))
            z = let(cosine * (sign * last) - sine * upper)
        rotating = let(size > self._at("limit", lane))
        needed = let(rotating & scalar.ne(y, 0.0))
        ratio = let((x - z) / (scalar.select(needed, y, one) * 2.0))
        root = scalar.sqrt(ratio * ratio + 1.0)
        tangent = let(scalar.select(needed, one / (ratio + scalar.select(ratio < 0.0, -root, root)), zero))
        right_c = let(one / scalar.sqrt(tangent * tangent + 1.0))
        right_s = let(right_c * tangent)
        right: _Turn = (right_s, let(right_s / (right_c + 1.0)), None)
        left = right
        if symmetrizing is not None:
            sign, cosine, sine = symmetrizing
            left_c = right_c * cosine - right_s * sine
            left_s = let(scalar.select(rotating, right_s * cosine + right_c * sine, zero))
            left = (left_s, let(left_s / (left_c + 1.0)), let(scalar.select(rotating, sign, one)))
        stmts.append(Store("rotated", (lane,), scalar.select(rotating, one, self._at("rotated", lane))))
        zeros = (
            Store("a", (*at, lane), scalar.select(rotating, zero, self._number("a", *at, lane)))
            for at in ((p, q), (q, p))
        )
        sides = {"u": left, "v": right}
        rotate = partial(self._rotate, p, q, lane)
        return (
            *stmts,
            rotate("a", right, rows=False),
            rotate("a", left, rows=True),
            *zeros,
            *(rotate(name, sides[name], rows=False) for name in self.vectors),
        )

    def _symmetrizing(
        self, let: Callable[[Expr], Local], first: Local, upper: Local, lower: Local, last: Local
    ) -> tuple[Local, Local, Local]:
        """Return the sign of the second row, and cosine and sine, that make two rows symmetric.

        The second row is turned round if the signs on the diagonal differ. They are then equal, so the angle
        is small once the rest is.
        """
        one = self.one
        sign = let(scalar.select(scalar.xor(first < 0.0, last < 0.0), -one, one))
        sums, differences = let(first + last * sign), let(lower * sign - upper)
        norm = let(scalar.sqrt(sums * sums + differences * differences))
        none = scalar.eq(norm, 0.0)
        inverse = let(scalar.select(sums < 0.0, -one, one) / scalar.select(none, one, norm))
        cosine = let(scalar.select(none, one, sums * inverse))
        return sign, cosine, let(differences * inverse)

    def _rotate(self, p: Expr, q: Expr, lane: Index, name: str, by: _Turn, rows: bool) -> Loop:
        """Rotate rows, or columns: the smaller the angle, the smaller the errors of this form."""
        angle, half, turned = by

        def both(k: Index) -> Body:
            at = [(r, k, lane) if rows else (k, r, lane) for r in (p, q)]
            x, y = (self.fresh.local("old", self.dtype) for _ in range(2))
            other: Expr = self._number(name, *at[1])
            return (
                Let(x, self._number(name, *at[0])),
                Let(y, other if turned is None else other * turned),
                Store(name, at[0], x + angle * (y - half * x)),
                Store(name, at[1], y - angle * (x + half * y)),
            )

        return self.fresh.each(self.n, both, "k")

    def _finish(self, lane: Index, more: Local) -> Body:
        """Scale the values back; NaN if there are none, or if more sweeps would have been needed."""
        factor = unscale_of(self._at("largest", lane), self.dtype, self.dtype)
        bad = self.fresh.local("bad", self.dtype)
        rest = scalar.select(self._at("rotated", lane) > 0.0, Const(math.nan, self.dtype), self.zero)
        unfinished = scalar.select(more > 0.0, rest, self.zero)

        def value(i: Index) -> Body:
            x = self._number("a", i, i, lane) * factor
            return (Store("values", (i, lane), (x if self.symmetric else scalar.abs(x)) + bad),)

        return (
            Let(bad, self._at("bad", lane) + unfinished),
            Store("bad", (lane,), bad),
            self.fresh.each(self.n, value),
        )

    def _written(
        self,
        group: Index,
        lane: Index,
        put_value: PutValue,
        put_left: PutVector | None,
        put_right: PutVector | None,
    ) -> Body:
        here = self.fresh.local("here", int64)
        place = self._place(here)
        puts = {"u": put_left, "v": put_right}

        def ranks(i: Index) -> Body:
            return ranked(
                self.fresh, i, self.n, lambda k: Load("values", (k, lane), self.dtype), not self.symmetric,
                lambda rank: Store("ranks", (i,), rank),
            )  # fmt: skip

        def column(i: Index) -> Body:
            rank, largest = self.fresh.local("rank", int64), self.fresh.local("largest", self.dtype)
            sign, found = sign_of(
                self.fresh, self.n, lambda k: self._number("v", k, i, lane), largest, self.dtype
            )

            def size_of(k: Index) -> Body:
                size = scalar.abs(self._number("v", k, i, lane))
                return (Update(largest, scalar.select(size > largest, size, largest)),)

            def row(k: Index) -> Body:
                stores = []
                for name in self.vectors:
                    x: Expr = self._number(name, k, i, lane) * sign + self._at("bad", lane)
                    if name == "u":
                        x = scalar.select(self._number("a", i, i, lane) < 0.0, -x, x)
                    put = puts[name]
                    assert put is not None
                    stores.append(put(place, k, rank, x))
                return tuple(stores)

            signed = (Let(largest, self.zero), self.fresh.each(self.n, size_of, "k"), *found)
            vectors = (*signed, self.fresh.each(self.n, row, "k")) if self.vectors else ()
            return (
                Let(rank, Load("ranks", (i,), int64)),
                put_value(place, rank, Load("values", (i, lane), self.dtype)),
                *vectors,
            )

        body = (self.fresh.each(self.n, ranks), self.fresh.each(self.n, column))
        exact = isinstance(self.count, int) and not self.count % self.width
        return (
            Let(here, group * self.width + lane),
            *(body if exact else (If(here < number(self.count, int64), body),)),
        )
