"""Fourier transforms of rows that fit into a core's cache: one kernel in which each row passes all stages.

The stages are those of `stages.py`. Between them the real and the imaginary parts lie in two vectors
of scratch memory, so that lanes need not be taken apart. Columns of a matrix are transformed in strips of
`STRIP` columns, which lie side by side in memory.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, DType, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, LoopKind, Stmt, Store
from staticgraph.compiler.ops.fourier.butterflies import parts, radices_of, small_transform
from staticgraph.compiler.ops.fourier.stages import staged
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, fixed, real
from staticgraph.compiler.ops.statements.loops import nested

Body = tuple[Stmt, ...]
Point = Callable[[Expr, Expr], Expr]  # the complex number at a place in a column
Put = Callable[[Expr, Expr, Expr], Body]  # stores a number at a place in a column

STRIP = 16  # columns: the float32 lanes of the widest vectors
_FEWEST, _MOST = 32, 1 << 15  # points of a row, and of a strip at most
ZERO = Const(0, int64)


def fits(n: int, inner: AnySize) -> bool:
    """Return True if a kernel of this file is there for `n` points in each of `inner` columns."""
    if radices_of(n) is None:
        return False
    if same(inner, 1):
        return _FEWEST <= n <= _MOST
    return isinstance(inner, int) and inner >= STRIP and 1 < n <= _MOST // STRIP


def turns_of(n: int, inverse: bool) -> np.ndarray:
    """The roots of unity of all stages."""
    found, left = [np.zeros(0)], n
    for radix in radices_of(n) or ():
        left //= radix
        if left > 1:
            found.append(np.outer(np.arange(1, radix), np.arange(left)).ravel() / (left * radix))
    return np.exp((2j if inverse else -2j) * np.pi * np.concatenate(found))


class _Stage(NamedTuple):
    """One stage: that of `fft_stage` with `left` for the count and `done` for what is inside."""

    read: Point
    write: Put
    radix: int
    left: int
    done: int
    start: int  # of its roots of unity
    scale: float = 1.0


class Stages:
    """The statements of one transform of `n` points in each of `width` columns."""

    def __init__(
        self, n: int, width: int, turn: Callable[[Expr], Expr], inverse: bool, dtype: DType, mark: str = ""
    ) -> None:
        self.n, self.width, self.turn, self.dtype = n, width, turn, dtype
        self.sign = 1.0 if inverse else -1.0
        self.mark, self._numbers = mark, itertools.count()
        self.scratch: dict[str, Buffer] = {}

    def lanes(self, extent: AnySize, body: Callable[[Index], Body]) -> Loop:
        """A loop in vector lanes."""
        index = Index(f"lane{self.mark}{next(self._numbers)}", extent)
        return Loop(index, body(index), LoopKind.SIMD)

    def memory(self, number: int) -> tuple[Point, Put]:
        """Complex numbers in scratch memory."""
        names = [f"{part}{self.mark}{number % 2}" for part in ("re", "im")]
        for name in names:
            self.scratch[name] = Buffer(self.dtype, (self.n * self.width,), written=True, local=True)

        def point(place: Expr, column: Expr) -> Expr:
            at = (place * self.width + column,)
            return scalar.complex(*(Load(name, at, self.dtype) for name in names))

        def put(place: Expr, column: Expr, value: Expr) -> Body:
            at = (place * self.width + column,)
            return tuple(Store(name, at, v) for name, v in zip(names, parts(value), strict=True))

        return point, put

    @property
    def result(self) -> tuple[Point, Put]:
        """Scratch memory for the results, which no stage before the last one uses."""
        return self.memory(len(radices_of(self.n) or ()) - 1)

    def body(self, read: Point, write: Put, scale: float = 1.0, places: int | None = None) -> Body:
        """All stages. Only the first one calls `read` and only the last one `write`, each point once.

        The memory of number 1 may be read. `places`: so many of the results are wanted, the first ones.
        """
        radices = radices_of(self.n)
        assert radices is not None
        made: list[Stmt] = []
        done, left, start = 1, self.n, 0
        for number, radix in enumerate(radices):
            left //= radix
            source = read if number == 0 else self.memory(number - 1)[0]
            if number < len(radices) - 1:
                stage = _Stage(source, self.memory(number)[1], radix, left, done, start)
                made += self._loops(stage, self.n)
            else:
                stage = _Stage(source, write, radix, left, done, start, scale)
                made += self._loops(stage, self.n if places is None else places)
            start += (radix - 1) * left if left > 1 else 0
            done *= radix
        return tuple(made)

    def _loops(self, stage: _Stage, wanted: int) -> Iterator[Stmt]:
        """The loops of one stage.

        Only the last stage may want less than all results: those of whole loops over `done`, and of a part of
        the next one.
        """
        left, done = stage.left, stage.done
        results = partial(self._results, stage)
        if self.width > 1:
            yield from self._each(
                left,
                lambda j: self._each(
                    done, lambda k: (self.lanes(self.width, lambda column: results(j, k, column)),)
                ),
            )
        elif done == 1:
            yield self.lanes(left, lambda j: results(j, ZERO, ZERO))
        else:
            count, more = divmod(wanted, done)
            if more:
                yield from self._each(
                    left, lambda j: (self.lanes(more, lambda k: results(j, k, ZERO, count + 1)),)
                )
            yield from self._each(
                left, lambda j: (self.lanes(done - more, lambda k: results(j, k + more, ZERO, count)),)
            )

    def _each(self, extent: int, body: Callable[[Expr], Body]) -> Body:
        if extent == 1:
            return body(ZERO)
        index = Index(f"i{self.mark}{next(self._numbers)}", extent)
        return (Loop(index, body(index)),)

    def _results(self, stage: _Stage, j: Expr, k: Expr, column: Expr, count: int | None = None) -> Body:
        """One small transform of a stage, and the first `count` of its results stored."""
        lets: list[Stmt] = []
        stores: list[Body] = []

        def kept(value: Expr) -> Local:
            local = Local(f"p{self.mark}{next(self._numbers)}", value.dtype)
            lets.append(Let(local, value))
            return local

        def kept_point(value: Expr) -> Expr:
            re, im = parts(value)
            return scalar.complex(kept(re), im) if isinstance(im, Const) else kept(value)  # real numbers

        radix, left, done = stage.radix, stage.left, stage.done
        points = [kept_point(stage.read((q * left + j) * done + k, column)) for q in range(radix)]
        for p, value in enumerate(small_transform(points, self.sign)[:count]):
            if left > 1 and p:
                at = stage.start + (p - 1) * left + j
                value = value * self.turn(at)
            if stage.scale != 1.0:
                value = scalar.complex(*(v * stage.scale for v in parts(value)))
            stores.append(stage.write((j * radix + p) * done + k, column, kept(value)))
        # What lanes write side by side follows each other: the results of a lane, or both parts of one.
        ordered = zip(*stores, strict=True) if done == self.width == 1 else stores
        return (*lets, *(store for several in ordered for store in several))


def numpy_stages(x: np.ndarray, turns: np.ndarray, inverse: bool) -> np.ndarray:
    """Transforms along the second of three axes, in stages with the given factors."""
    batch, n, columns = x.shape
    left, start = n, 0
    for radix in radices_of(n) or ():
        left //= radix
        turns_by = (2j if inverse else -2j) * np.pi / radix
        matrix = np.exp(turns_by * np.outer(np.arange(radix), np.arange(radix)))
        x = np.einsum("pq,bqjk->bjpk", matrix, x.reshape(batch, radix, left, n // (radix * left) * columns))
        if left > 1:
            used = (radix - 1) * left
            x[:, :, 1:] *= turns[start : start + used].reshape(radix - 1, left).T[..., None]
            start += used
        x = x.reshape(batch, n, columns)
    return x


def _check_turns(turns: TensorType, n: int) -> None:
    wanted = turns_of(n, False).shape
    require(
        turns.shape is None or turns.shape in (wanted, (None,)),
        f"turns have shape {turns.shape}, and must have shape {wanted}",
    )


def _columns_type(x: TensorType, turns: TensorType, inverse: bool = False, scale: float = 1.0) -> TensorType:
    require(x.rank in (None, 3), f"x has rank {x.rank}, and must be [batch, points, columns]")
    if x.shape is None:
        return x
    _, points, columns = x.shape
    if points is not None and columns is not None:
        n = operator.index(points)
        require(fits(n, columns), f"there are no stages for {n} points in {columns} columns")
        _check_turns(turns, n)
    return x


def _numpy_columns(x: np.ndarray, turns: np.ndarray, inverse: bool = False, scale: float = 1.0) -> np.ndarray:
    return (numpy_stages(x, turns, inverse) * scale).astype(x.dtype)


def on_a_gpu(*_: TensorType) -> bool:
    """Rows are too few for all threads of a GPU, which have stages instead (`expand`)."""
    return True


def _columns_in_stages(x: Any, turns: Any, inverse: bool = False, scale: float = 1.0) -> Any:
    return staged(x, inverse) * scale


def count_of_turns(n: int) -> int:
    """The number of roots of unity of all stages."""
    return len(turns_of(n, False))


@routine(
    type=_columns_type, numpy=_numpy_columns, dtypes=COMPLEX, differentiable=False,
    long=on_a_gpu, expand=_columns_in_stages,
    samples=[
        Sample(real(2, 40, 1), fixed(turns_of(40, False))),
        Sample(real(3, 32, 1), fixed(turns_of(32, True)), inverse=True, scale=0.25),
        Sample(real(1, 105, 1), fixed(turns_of(105, False))),
        Sample(real(2, 8, 35), fixed(turns_of(8, False)), scale=2.0),
        Sample(real(0, 35, 16), fixed(turns_of(35, True)), inverse=True),
    ],
)  # fmt: skip
def fft_columns(
    outs: tuple[Out, ...], x: View, turns: View, *, inverse: bool = False, scale: float = 1.0
) -> Described | tuple[()]:
    """Fourier transforms along the second of three axes, multiplied by `scale`.

    `turns` are those of `turns_of`. `inverse` turns by angles of the other sign.
    """
    (out,) = outs
    batch, n, columns = x.shape
    if same(batch, 0):
        return ()
    n = operator.index(n)
    row = Index("row", batch)
    scratch: dict[str, Buffer] = {}
    bodies: list[Stmt] = []
    width = 1 if same(columns, 1) else STRIP

    def strips(first: int, count: int, lanes: int, mark: str) -> None:
        """So many strips from a column on; those of another width have scratch memory of their own."""
        strip = Index(f"strip{mark}", count)
        stages = Stages(n, lanes, lambda at: turns[at], inverse, turns.dtype.real_dtype, mark)

        def at(place: Expr, column: Expr) -> tuple[Expr, ...]:
            return row, place, first + strip * lanes + column

        body = stages.body(
            lambda place, column: x[at(place, column)],
            lambda place, column, value: (Store(out.buffer, at(place, column), value),),
            scale,
        )
        scratch.update(stages.scratch)
        bodies.extend(nested((row, strip), body, LoopKind.PARALLEL))

    count, rest = divmod(columns, width)
    strips(0, count, width, "")
    if rest:
        strips(columns - rest, 1, rest, "e")
    return Described(tuple(bodies), scratch=scratch)
