"""Fourier transforms of any length by those that have stages, as statements of the kernel IR.

If a prime factor of the length is above 7, the transform is a convolution with a chirp (Bluestein). That is
two transforms of a greater length, and a third one, of the chirp, for the first row of several. Code for the
stages is long, so that there is one loop of passes around it. A pass says what comes before and after it.

The data come from a function `fill(put)`, which does `put(p, place, value)` for each of them. They go to
`finish(side)`, which finds the results in the planes from that place on.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.kernel.stmt import If, Let, While
from staticgraph.compiler.ops.fourier.open_plan import CHIRP, Plan
from staticgraph.compiler.ops.fourier.open_stages import WORK, OpenStages, Point, Points, between, times
from staticgraph.compiler.ops.statements.strips import Body, Scratch, whole

SPECTRUM = "spectrum"  # the planes of the transform of the chirp
_PLAIN, _KERNEL, _FORTH, _BACK = range(4)  # the passes: the only one, and three of a convolution
_FOLLOWING = {_KERNEL: _FORTH, _FORTH: _BACK}

Put = Callable[[Expr, Expr, Point], Body]  # takes a point: its number, its place and its value


class Passes:
    """The transform of a row, or of a strip of columns. It turns by negative angles."""

    def __init__(
        self,
        points: Points,
        plan: Plan,
        fill: Callable[[Put], Body],
        finish: Callable[[Expr], Body],
    ) -> None:
        self.points, self.plan, self.fresh = points, plan, points.fresh
        self.fill, self.finish = fill, finish
        self.length, self.is_plain, rows, self.lets = plan.lengths()
        self.stages = OpenStages(points, self.length, rows)
        self.state = self.stages.state

    @property
    def scratch(self) -> Scratch:
        """The scratch memory of a group of rows."""
        return self.stages.scratch | self.points.planes(SPECTRUM)

    def begun(self) -> Body:
        """Return what comes before the rows of a group."""
        return *self.lets, *self.state.put(ready=0)

    def body(self) -> Body:
        """Return the transform of a row, or of a strip."""
        turn, state = self.fresh.local("turn", int64), self.state
        # The spectrum of the chirp is that of a strip of the same width.
        width = whole(1) if self.points.width is None else self.points.width
        first = scalar.select(scalar.eq(state["ready"], width), whole(_FORTH), whole(_KERNEL))
        following: Expr = whole(-1)
        for one, other in _FOLLOWING.items():
            following = scalar.select(scalar.eq(turn, one), whole(other), following)

        def case(number: int, body: Body) -> If:
            return If(scalar.eq(turn, number), body)

        inside = (
            Let(turn, state["what"]),
            If(
                scalar.eq(turn, _PLAIN) | scalar.eq(turn, _FORTH),
                self.fill(lambda p, place, value: self.points.put(WORK, place, value)),
            ),
            case(_KERNEL, self._kernel()),
            case(_FORTH, self._filled()),
            *self.stages.body(),
            case(_KERNEL, self.stages.side(self._kept)),
            case(_FORTH, self.stages.side(self._product)),
            case(_BACK, self.stages.side(self._result)),
            If(scalar.eq(following, -1), self.stages.side(self.finish)),
            *state.put(what=following),
        )
        return (
            *state.put(what=scalar.select(scalar.eq(self.is_plain, 0), first, whole(_PLAIN))),
            While(state["what"] >= 0, inside),
            *state.put(ready=width),
        )

    # Of k j = (k^2 + j^2 - (k - j)^2) / 2 the last part is a convolution, the others are factors.

    def _kernel(self) -> Body:
        """The conjugate of the chirp, from 0 in both directions."""

        def value(p: Expr, place: Expr) -> Body:
            number = scalar.minimum(p, self.length - p)
            there = number < self.plan.count
            last = self.plan.count - 1  # beyond it, nobody has written
            re, im = self.points.get(CHIRP, between(scalar.minimum(number, last), 0, self.plan.most - 1))
            zero = Const(0.0, self.points.dtype)
            parts = scalar.select(there, re, zero), scalar.select(there, -im, zero)
            return self.points.put(WORK, place, parts)

        return self.points.each(0, self.length, value)

    def _filled(self) -> Body:
        """The data times the chirp, and zeros."""
        zero = Const(0.0, self.points.dtype)

        def value(p: Expr, place: Expr) -> Body:
            turned = times(self.points.get(WORK, place), self.points.get(CHIRP, p))
            return self.points.put(WORK, place, turned)

        return (
            *self.points.each(0, self.plan.count, value),
            *self.points.each(
                self.plan.count, self.length, lambda p, place: self.points.put(WORK, place, (zero, zero))
            ),
        )

    def _kept(self, side: Expr) -> Body:
        def value(p: Expr, place: Expr, at: Expr) -> Body:
            return self.points.put(SPECTRUM, place, self.points.get(WORK, at))

        return self.points.each_of_side(side, self.length, value)

    def _product(self, side: Expr) -> Body:
        """The conjugate of the product with the spectrum: its angles are negative again on the way back."""

        def value(p: Expr, place: Expr, at: Expr) -> Body:
            re, im = times(self.points.get(WORK, at), self.points.get(SPECTRUM, place))
            return self.points.put(WORK, place, (re, -im))

        return self.points.each_of_side(side, self.length, value)

    def _result(self, side: Expr) -> Body:
        """The results, in the same places."""
        scale = self.fresh.local("scale", self.points.dtype)

        def value(p: Expr, place: Expr, at: Expr) -> Body:
            re, im = self.points.get(WORK, at)
            turned = times((re * scale, -im * scale), self.points.get(CHIRP, p))
            return self.points.put(WORK, at, turned)

        return (
            Let(scale, 1.0 / scalar.cast(self.length, self.points.dtype)),
            *self.points.each_of_side(side, self.plan.count, value),
        )
