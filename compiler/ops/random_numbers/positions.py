"""Random ops whose results are positions: of classes by their probabilities, and of shuffled rows.

They take their numbers from the streams of `random.py`.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, DType, float64, int32, int64, uint32
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.opdef import Kind, ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import at_least, is_open, proven
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.binary_search import how_many
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, substitute
from staticgraph.compiler.kernel.form import Scan, StagedForm
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, LoopKind, Stmt, Store, Update
from staticgraph.compiler.ops.kinds import Described, Out, View
from staticgraph.compiler.ops.random_numbers import philox
from staticgraph.compiler.ops.random_numbers.random import STATE, block_of, blocks_of, drawn
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.exchanges import exchanged
from staticgraph.compiler.ops.statements.loops import nested


def _multinomial_type(*types: TensorType, num_samples: Any, output_dtype: DType, **_: Any) -> TensorType:
    logits = types[-1]
    require(logits.rank in (None, 2), f"logits has rank {logits.rank}, 2 is needed")
    require(
        output_dtype in (int32, int64),
        f"output_dtype is {output_dtype}, and must be int32 or int64",
        kind=DtypeError,
    )
    require(logits.shape is None or logits.shape[1] != 0, "logits has no classes")
    rows = None if logits.shape is None else logits.shape[0]
    return TensorType(output_dtype, (rows, num_samples))


def _numpy_multinomial(
    state: np.ndarray, logits: np.ndarray, num_samples: int, seed: int, seed2: int, output_dtype: DType
) -> np.ndarray:
    wide, usable = logits.astype(np.float64), np.isfinite(logits)
    top = np.max(wide, axis=1, keepdims=True, where=usable, initial=-1e300)
    cdf = np.cumsum(np.where(usable, np.exp(wide - top), 0), axis=1)
    rows = len(logits)
    blocks = blocks_of(state, rows * num_samples, 2)
    numbers = (
        philox.numpy_uniform(blocks, float64).reshape(-1)[: rows * num_samples].reshape(rows, num_samples)
    )
    out = [np.searchsorted(c, u * c[-1], side="right") for c, u in zip(cdf, numbers, strict=True)]
    return np.array(out, output_dtype.numpy).reshape(rows, num_samples)


@drawn(
    Kind.ROUTINE, tf="Multinomial", type=_multinomial_type, numpy=_numpy_multinomial,
    advance=lambda types, shape, **_: shape[0] * (-(-shape[1] // 4) * 4) * 2 * philox.RESERVED,
    operands=("num_samples",), partial=("num_samples",), dtypes=FLOATING, decides_by=1,
    samples=[Sample(STATE, real(2, 5), num_samples=7, seed=1, seed2=2),
             Sample(STATE, real(1, 3), num_samples=2, seed=9, output_dtype=int32),
             Sample(STATE, real(3, 1), num_samples=5, seed2=4)],
    interval=lambda y, *_: (0, y.node.inputs[1].shape[-1] - 1),
)
def multinomial(
    outs: tuple[Out, ...], state: View, logits: View, *, num_samples: Any, seed: int = 0, seed2: int = 0,
    output_dtype: DType = int64,
) -> tuple[Stmt, ...] | Described:
    """`num_samples` classes per row, drawn with probabilities softmax(logits), as `output_dtype`."""
    (out,), classes = outs, logits.shape[1]
    draws = _Draws(out, state, logits, num_samples)
    body = (draws.in_order(),)
    if is_open((*out.shape, classes)) or not out.shape[0] or not classes:
        return body
    return Described(body, draws.staged())


class _Draws:
    """Two forms of drawing classes: by a walk over all of a row, and by a search among sums made before."""

    def __init__(self, out: Out, state: View, logits: View, count: Any) -> None:
        rows, self.classes = logits.shape
        self.out, self.state, self.logits = out, state, logits
        self.row, self.sample = Index("row", rows), Index("sample", count)
        self.best, self.wanted = Local("best", float64), Local("wanted", float64)

    @property
    def number(self) -> Expr:
        """A random number from 0 to 1 for a sample."""
        words, lane = block_of(self.row * self.sample.extent + self.sample, self.state, 2)
        return philox.pick(philox.uniform(words, float64), lane)

    def usable(self, j: Index) -> Expr:
        """Return the condition that a logit is finite."""
        return scalar.lt(scalar.abs(self.logits[self.row, j]), math.inf)

    def wide(self, j: Index) -> Expr:
        """Return a logit in float64."""
        return scalar.cast(self.logits[self.row, j], float64)

    def weight(self, j: Index) -> Expr:
        """Return the share of a class, where the greatest one has 1."""
        return scalar.select(self.usable(j), scalar.exp(self.wide(j) - self.best), Const(0, float64))

    def stored(self, place: Expr) -> Store:
        """Store the class that was drawn."""
        return Store(self.out.buffer, (self.row, self.sample), scalar.cast(place, self.out.dtype))

    def in_order(self) -> Loop:
        """Return the form that keeps nothing: each draw adds shares up until there are enough."""
        peak, sum_, scan = (Index(name, self.classes) for name in ("peak", "sum", "scan"))
        best, total, running = self.best, Local("total", float64), Local("running", float64)
        chosen = Local("chosen", int64)
        highest = scalar.select(self.usable(peak), scalar.maximum(best, self.wide(peak)), best)
        passed = scalar.cast(scalar.le(running, self.wanted), int64)
        walk = (Update(running, running + self.weight(scan)), Update(chosen, chosen + passed))
        draw = (
            Let(self.wanted, self.number * total),
            Let(running, Const(0, float64)),
            Let(chosen, Const(0, int64)),
            Loop(scan, walk),
            self.stored(chosen),
        )
        of_row = (
            Let(best, Const(-1e300, float64)),
            Loop(peak, (Update(best, highest),)),
            Let(total, Const(0, float64)),
            Loop(sum_, (Update(total, total + self.weight(sum_)),)),
            Loop(self.sample, draw),
        )
        return Loop(self.row, of_row, LoopKind.PARALLEL)

    def staged(self) -> StagedForm:
        """Return the form with running sums in memory, for many threads: each draw is a search in them."""
        row, classes, j = self.row, self.classes, Index("class", self.classes)
        peaks, sums = (Out(name, self.logits.shape, float64) for name in ("class_peaks", "class_sums"))
        left, right = Local("left", float64), Local("right", float64)
        finite = scalar.select(self.usable(j), self.wide(j), Const(-1e300, float64))
        highest_yet = Scan(peaks.buffer, (row, j), 1, finite, left, right, scalar.maximum(left, right))
        added = substitute(self.weight(j), {self.best: peaks[row, classes - 1]})
        sums_yet = Scan(sums.buffer, (row, j), 1, added, left, right, left + right)
        lets, place = how_many(classes, lambda i: scalar.le(sums[row, i], self.wanted))
        draw = (Let(self.wanted, self.number * sums[row, classes - 1]), *lets, self.stored(place))
        find = nested((row, self.sample), draw, LoopKind.PARALLEL)
        scratch = {each.buffer: Buffer(float64, self.logits.shape, written=True) for each in (peaks, sums)}
        return StagedForm((highest_yet, sums_yet, find), scratch)


def _numpy_permutation(state: np.ndarray, size: int, seed: int, seed2: int) -> np.ndarray:
    order = np.arange(size, dtype=np.int64)
    words = blocks_of(state, size, 4).reshape(-1)
    for i in range(size - 1):
        j = i + int(words[i]) % (size - i)
        order[i], order[j] = order[j], order[i]
    return order


@drawn(
    Kind.ROUTINE, type=lambda *state, size, **_: TensorType(int64, (size,)), numpy=_numpy_permutation,
    samples=[Sample(STATE, size=n, seed=5, seed2=n) for n in (9, 1, 0)],
)
def random_permutation(
    outs: tuple[Out, ...], state: View, *, size: int, seed: int = 0, seed2: int = 0
) -> tuple[Stmt, ...] | Described:
    """The numbers 0..size-1 in random order, by exchanging each with one of those that follow."""
    (out,) = outs
    fill, i = Index("fill", size), Index("i", at_least(size - 1, 0))
    mine, other, place = Local("mine", int64), Local("other", int64), Local("place", int64)
    words, lane = block_of(i, state, 4)
    left = scalar.cast(size - i, uint32)
    target = i + scalar.cast(philox.pick(words, lane) % left, int64)
    body = (
        Loop(fill, (Store(out.buffer, (fill,), fill),)),
        Loop(
            i,
            (
                Let(place, scalar.minimum(target, size - 1)),  # as it is anyway
                Let(mine, out[i]),
                Let(other, out[place]),
                Store(out.buffer, (i,), other),
                Store(out.buffer, (place,), mine),
            ),
        ),
    )
    return Described(body, exchanged(out, i, target)) if not proven(operator.le, size, 1) else body


def _numpy_shuffle(state: np.ndarray, value: np.ndarray, seed: int, seed2: int) -> np.ndarray:
    return value[_numpy_permutation(state, len(value), seed, seed2)] if value.ndim else value


@drawn(
    Kind.COMPOSITE, tf="RandomShuffle", type=lambda *types, **_: types[-1], numpy=_numpy_shuffle,
    no_gradient_known=True, advance=lambda types, shape, **_: -(-math.prod(types[-1].static_shape[:1]) // 4),
    samples=[Sample(STATE, real(7), seed=1, seed2=2), Sample(STATE, real(4, 3), seed=1, seed2=3),
             Sample(STATE, real(), seed=1)],
)
def random_shuffle(state: Any, value: Any, *, seed: int = 0, seed2: int = 0) -> Any:
    """The rows of `value`, its parts along the first axis, in random order."""
    if value.rank == 0:
        return value
    attrs = {"size": value.shape[0], "seed": seed, "seed2": seed2}
    return ops.gather(value, state.recorder.apply(random_permutation, (state,), attrs), axis=0)
