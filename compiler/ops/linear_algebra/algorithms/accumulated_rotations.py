"""Recorded rotations of QR iterations, applied to vectors as products of small matrices.

A vector that is rotated thousands of times is rounded as often. So the rotations of some sweeps that meet
the same rows become one orthogonal matrix first, in double precision, and vectors are rounded once for all of
them (Braman, Byers and Mathias, 2002, do so for other iterations):

    sweep 0     . . . x x x | x x x . . .       rotation i of sweep m, of rows i and i + 1, is in the window
    sweep 1     . . x x x | x x x . . . .       (i + m) // block: those that it waits for, i - 1 of its sweep
    sweep 2     . x x x | x x x . . . . .       and i + 1 of the one before, are there or in windows before
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.graph.sizes import proven
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.linear_algebra.algorithms.implicit_shifts import Sweeps
from staticgraph.compiler.ops.statements.strips import TILE, Body, Scratch, Strips
from staticgraph.compiler.support.dataclass import replace

_LARGE = 700  # rows of a matrix whose vectors take more time than matrices of twice the size
_LANES = 2 * ALIGNMENT // float64.size  # of a small matrix, at the same time


def rotations(sweeps: Sweeps) -> Scratch:
    """The scratch memory of `rotated`."""
    return AccumulatedRotations(sweeps).buffers() if sweeps.accumulated or sweeps.depends else {}


def rotated(sweeps: Sweeps, q: Strips, sides: int) -> Body:
    """Rotate vectors, the rows of `q`, by what has been recorded, rotation by rotation or accumulated.

    The strips of a side follow each other. The number of rows tells which way; if it is open, a run does.
    """
    one_by_one = () if sweeps.accumulated else (sweeps.rotated(q, sides),)
    if not (sweeps.accumulated or sweeps.depends):
        return one_by_one
    count, made = q.count // sides, AccumulatedRotations(sweeps)
    several = [s for side in range(sides) for s in made.rotated(q.part(side * count, count), side)]
    if sweeps.depends:
        several = [replace(loop, body=(If(sweeps.has_many, loop.body),)) for loop in several]
    return *one_by_one, *several


def _at(i: Expr, j: Expr) -> Load:
    """A number of the product of a window."""
    return Load("product_of_rotations", (i, j), float64)


def _put(i: Expr, j: Expr, value: Expr) -> Store:
    return Store("product_of_rotations", (i, j), value)


class AccumulatedRotations:
    """Products of the rotations that `sweeps` have recorded, in scratch memory."""

    def __init__(self, sweeps: Sweeps) -> None:
        self.sweeps, self.fresh = sweeps, sweeps.fresh
        is_large = proven(operator.ge, sweeps.n, _LARGE)
        self.block = 32 if is_large else 16  # sweeps of a group, and diagonals of a window
        self.size = 2 * self.block  # rows that a window meets
        self.windows = -(-(sweeps.n - 2 + self.block) // self.block)
        self.groups = -(-sweeps.n // self.block) * sweeps.many

    def buffers(self) -> Scratch:
        """The scratch memory."""
        local = self.sweeps.local
        place: dict[str, Any] = {"written": True, "local": local, "shared": True}
        line = ALIGNMENT // float32.size
        return {
            "products": Buffer(float32, (self.groups, self.windows, self.size, self.size), **place),
            "busy": Buffer(int64, (self.groups, self.windows), **place),
            "product_of_rotations": Buffer(float64, (self.size, self.size), written=True, local=True),
            "turned_rows": Buffer(float32, (self.size, line), written=True, local=True),
        }

    def rotated(self, q: Strips, side: int) -> tuple[Loop, Loop]:
        """Rotate vectors, the rows of `q`, by what has been recorded."""
        at_once, _ = self.sweeps.padded(-(-q.columns // q.width))
        some = self.fresh.index("strips", q.count // at_once * self.sweeps.many)
        number = self.fresh.index("number", self.groups * self.windows)
        groups = self.fresh.local("groups", int64)

        def multiplied(group: Index) -> Body:
            def window(w: Index) -> Body:
                each = self.fresh.each(
                    at_once, lambda k: self._multiplied(q, some * at_once + k, group, w), "strip"
                )
                return (If(Load("busy", (group, w), int64) > 0, (each,)),)

            return (self.fresh.each(self.windows, window, "window"),)

        group, window = number // self.windows, number % self.windows
        product = If(group < groups, self._product(q, group, window, side))
        all_groups = self.fresh.between(0, groups, self.groups, multiplied, "group")
        count = (self.sweeps.recorded + (self.block - 1)) // self.block
        return (
            Loop(number, (Let(groups, count), product), LoopKind.PARALLEL),
            Loop(some, (Let(groups, count), all_groups), LoopKind.PARALLEL),
        )

    def _first_row(self, q: Strips, window: Expr) -> Expr:
        """The first row that a window has: all that its rotations meet are in the matrix."""
        first = scalar.maximum(window * self.block - (self.block - 1), 0)
        return scalar.maximum(scalar.minimum(first, q.height - self.size), 0)

    def _product(self, q: Strips, group: Expr, window: Expr, side: int) -> Body:
        """Multiply the rotations of a window. What is stored is less than zero: tiles take products off."""
        fresh, low = self.fresh, self.fresh.local("low", int64)
        busy = fresh.local("busy", int64)

        def unit(i: Index) -> Body:
            one, zero = Const(-1.0, float64), Const(0.0, float64)
            return (self._lanes(lambda j: (_put(i, j, scalar.select(scalar.eq(i, j), one, zero)),)),)

        def sweep(m: Index) -> Body:
            number = group * self.block + m
            first, last, used = (self.sweeps.of_sweep(number, part) for part in range(3))
            start, stop = fresh.local("start", int64), fresh.local("stop", int64)

            def rotate(lane: Expr) -> Body:
                carried = fresh.local("carried", float64)

                def row(i: Index) -> Body:
                    following = fresh.local("following", float64)
                    c, s = (self.sweeps.rotation(used + (i - first), side, part) for part in range(2))
                    return (
                        Let(following, _at(i + 1 - low, lane)),
                        _put(i - low, lane, c * carried + s * following),
                        Update(carried, c * following - s * carried),
                    )

                return (
                    Let(carried, _at(start - low, lane)),
                    fresh.between(start, stop, self.sweeps.n, row, "row"),
                    _put(stop - low, lane, carried),
                )

            return (
                Let(start, scalar.maximum(first, window * self.block - m)),
                Let(stop, scalar.minimum(last, (window + 1) * self.block - m)),
                If(start < stop, (Update(busy, busy + 1), self._lanes(rotate))),
            )

        def stored(i: Index) -> Body:
            def of_lane(lane: Expr) -> Body:
                return (Store("products", (group, window, i, lane), scalar.cast(_at(i, lane), float32)),)

            return (self._lanes(of_lane),)

        here = scalar.minimum(self.sweeps.recorded - group * self.block, self.block)
        return (
            Let(low, self._first_row(q, window)),
            Let(busy, Const(0, int64)),
            fresh.each(self.size, unit),
            fresh.between(0, here, self.block, sweep, "sweep"),
            Store("busy", (group, window), busy),
            If(busy > 0, (fresh.each(self.size, stored),)),
        )

    def _lanes(self, body: Callable[[Expr], Body]) -> Loop:
        """A loop over the columns of the product of a window, in lanes."""
        fresh = self.fresh
        return fresh.each(
            self.size // _LANES,
            lambda block: (fresh.lanes(_LANES, lambda lane: body(block * _LANES + lane)),),
            "block",
        )

    def _multiplied(self, q: Strips, strip: Expr, group: Index, window: Index) -> Body:
        """Multiply the rows of a window by its matrix, a band: a sweep moves a row up by one at the most."""
        low = self.fresh.local("low", int64)

        def tile(number: Index) -> Body:
            first = number * TILE

            def lanes(lane: Index) -> Body:
                rows, body = q.tile(
                    [Const(0.0, float32)] * TILE,
                    scalar.minimum(first + (TILE + self.block), self.size),
                    lambda r, k: Load("products", (group, window, first + r, k), float32),
                    lambda k: q.at(strip, low + k, lane),
                    self.size,
                    scalar.maximum(first - self.block, 0),
                )
                return (*body, *(Store("turned_rows", (first + r, lane), row) for r, row in enumerate(rows)))

            return (q.lanes(lanes),)

        def back(i: Index) -> Body:
            return (
                q.lanes(lambda lane: (q.put(strip, low + i, lane, Load("turned_rows", (i, lane), float32)),)),
            )

        turned = self.fresh.each(self.size // TILE, tile, "tile"), self.fresh.each(self.size, back)
        return (Let(low, self._first_row(q, window)), *turned)
