"""Fourier transforms of rows that fit into a core's cache: one kernel in which each row passes all stages.

The stages are those of `stages.py`. Between them the real and the imaginary parts lie in two vectors
of scratch memory, so that lanes need not be taken apart. Columns of a matrix are transformed in strips of
`STRIP` columns, which lie side by side in memory.

A transform of an even number n of real points is one of n / 2 complex ones, whose real parts are the points
at even places. The spectrum of the n points is found in theirs, and the other way round.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, DType, complex64, complex128, float32, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, LoopKind, Stmt, Store
from staticgraph.compiler.ops.fourier.butterflies import parts, radices_of, small_transform
from staticgraph.compiler.ops.fourier.stages import signal_of_pairs, spectrum_of_pairs, staged
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, fixed, real
from staticgraph.compiler.ops.statements.loops import nested

Body = tuple[Stmt, ...]
Point = Callable[[Expr, Expr], Expr]  # the complex number at a place in a column
Put = Callable[[Expr, Expr, Expr], Body]  # stores a number at a place in a column

STRIP = 16  # columns: the float32 lanes of the widest vectors
_FEWEST, _MOST = 32, 1 << 15  # points of a row, and of a strip at most
_ZERO = Const(0, int64)


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


class _Stages:
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

    def body(self, read: Point, write: Put, scale: float = 1.0) -> Body:
        """All stages. Only the first one calls `read` and only the last one `write`, each point once.

        The memory of number 1 may be read.
        """
        radices = radices_of(self.n)
        assert radices is not None
        made: list[Stmt] = []
        done, left, start = 1, self.n, 0
        for number, radix in enumerate(radices):
            left //= radix
            source = read if number == 0 else self.memory(number - 1)[0]
            last = number == len(radices) - 1
            target = write if last else self.memory(number)[1]
            made += self._stage(source, target, radix, left, done, start, scale if last else 1.0)
            start += (radix - 1) * left if left > 1 else 0
            done *= radix
        return tuple(made)

    def _stage(
        self, read: Point, write: Put, radix: int, left: int, done: int, start: int, scale: float
    ) -> Iterator[Stmt]:
        """One stage: that of `fft_stage` with `left` for the count and `done` for what is inside."""

        def results(j: Expr, k: Expr, column: Expr) -> Body:
            lets: list[Stmt] = []
            stores: list[Body] = []

            def kept(value: Expr) -> Local:
                local = Local(f"p{self.mark}{next(self._numbers)}", value.dtype)
                lets.append(Let(local, value))
                return local

            points = [kept(read((q * left + j) * done + k, column)) for q in range(radix)]
            for p, value in enumerate(small_transform(points, self.sign)):
                if left > 1 and p:
                    at = start + (p - 1) * left + j
                    value = value * self.turn(at)
                if scale != 1.0:
                    value = scalar.complex(*(v * scale for v in parts(value)))
                stores.append(write((j * radix + p) * done + k, column, kept(value)))
            # What lanes write side by side follows each other: the results of a lane, or both parts of one.
            ordered = zip(*stores, strict=True) if done == self.width == 1 else stores
            return (*lets, *(store for several in ordered for store in several))

        def each(extent: int, body: Callable[[Expr], Body]) -> Body:
            if extent == 1:
                return body(_ZERO)
            index = Index(f"i{self.mark}{next(self._numbers)}", extent)
            return (Loop(index, body(index)),)

        if self.width > 1:
            yield from each(
                left,
                lambda j: each(
                    done, lambda k: (self.lanes(self.width, lambda column: results(j, k, column)),)
                ),
            )
        elif done == 1:
            yield self.lanes(left, lambda j: results(j, _ZERO, _ZERO))
        else:
            yield from each(left, lambda j: (self.lanes(done, lambda k: results(j, k, _ZERO)),))


def _numpy_stages(x: np.ndarray, turns: np.ndarray, inverse: bool) -> np.ndarray:
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


# Complex numbers


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
    return (_numpy_stages(x, turns, inverse) * scale).astype(x.dtype)


def _on_a_gpu(*_: TensorType) -> bool:
    """Rows are too few for all threads of a GPU, which have stages instead (`expand`)."""
    return True


def _columns_in_stages(x: Any, turns: Any, inverse: bool = False, scale: float = 1.0) -> Any:
    return staged(x, inverse) * scale


def _count(n: int) -> int:
    return len(turns_of(n, False))


@routine(
    type=_columns_type, numpy=_numpy_columns, dtypes=COMPLEX, differentiable=False,
    long=_on_a_gpu, expand=_columns_in_stages,
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
        stages = _Stages(n, lanes, lambda at: turns[at], inverse, turns.dtype.real_dtype, mark)

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


# Real numbers


def half_turns(n: int, inverse: bool) -> np.ndarray:
    """The roots of unity of all stages for n / 2 points, and n / 2 more for real numbers."""
    half = n // 2
    turns = np.exp((1j if inverse else -1j) * np.pi * np.arange(half) / half)
    return np.append(turns_of(half, inverse), turns)


def planes(n: int) -> np.ndarray:
    """The `half_turns` as real numbers: their real parts, and below them the imaginary ones."""
    turns = half_turns(n, inverse=False)
    return np.stack([turns.real, turns.imag])


def _half(n: int) -> int:
    """Half of an even number of points that fits."""
    require(n % 2 == 0 and fits(n // 2, 1), f"there are no stages for half of {n} points in one column")
    return n // 2


def _spectrum_type(x: TensorType, turns: TensorType) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, points]")
    spectrum = complex64 if x.dtype is float32 else complex128
    if x.shape is None or x.shape[1] is None:
        return TensorType(spectrum, None if x.shape is None else (x.shape[0], None))
    half = _half(operator.index(x.shape[1]))
    wanted = (2, _count(half) + half)
    require(turns.shape in (None, wanted), f"turns have shape {turns.shape}, and must have shape {wanted}")
    return TensorType(spectrum, (x.shape[0], half + 1))


def _numpy_spectrum(x: np.ndarray, turns: np.ndarray) -> np.ndarray:
    half = x.shape[1] // 2
    turns = turns[0] + 1j * turns[1]
    pairs = x[:, ::2] + 1j * x[:, 1::2]
    z = _numpy_stages(pairs[:, :, None], turns[:-half], False)[:, :, 0]
    places = np.arange(half + 1)
    one, other = z[:, places % half], z[:, -places % half].conj()
    factors = np.append(turns[-half:], [-1])
    factors[0] = 1
    made = (one + other) / 2 + factors * (one - other) / 2j
    made[:, [0, -1]] = made[:, [0, -1]].real
    return made.astype("c8" if x.dtype == "f4" else "c16")


@routine(
    type=_spectrum_type, numpy=_numpy_spectrum, dtypes=frozenset({float32, float64}), differentiable=False,
    long=_on_a_gpu, expand=lambda x, turns: spectrum_of_pairs(x, staged),
    samples=[
        Sample(real(2, 80), fixed(planes(80))),
        Sample(real(3, 64), fixed(planes(64))),
        Sample(real(0, 64), fixed(planes(64))),
    ],
)  # fmt: skip
def rfft_rows(outs: tuple[Out, ...], x: View, turns: View) -> Described | tuple[()]:
    """The first half of the Fourier transforms of rows of real numbers.

    `turns` are those of `planes`.
    """
    (out,) = outs
    batch, half = x.shape[0], _half(operator.index(x.shape[1]))
    if same(batch, 0):
        return ()
    row = Index("row", batch)

    def turn(at: Expr) -> Expr:
        return scalar.complex(*(turns[part, at] for part in (0, 1)))

    stages = _Stages(half, 1, turn, False, x.dtype)
    found, put = stages.result

    def pair(place: Expr, _: Expr) -> Expr:
        return scalar.complex(*(x[row, place * 2 + part] for part in (0, 1)))

    def between(k: Index) -> Body:
        one, other = found(k + 1, _ZERO), scalar.conjugate(found(half - 1 - k, _ZERO))
        a, b = parts(one + other), parts((one - other) * turn(_count(half) + 1 + k))
        return (Store(out.buffer, (row, k + 1), scalar.complex((a[0] + b[1]) * 0.5, (a[1] - b[0]) * 0.5)),)

    re, im = parts(found(_ZERO, _ZERO))
    ends = (
        Store(out.buffer, (row, _ZERO), scalar.complex(re + im, 0.0)),
        Store(out.buffer, (row, Const(half, int64)), scalar.complex(re - im, 0.0)),
    )
    body = (*stages.body(pair, put), *ends, stages.lanes(half - 1, between))
    return Described(nested((row,), body, LoopKind.PARALLEL), scratch=stages.scratch)


def _signal_type(x: TensorType, turns: TensorType, scale: float = 1.0) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, half + 1]")
    signal = x.dtype.real_dtype
    if x.shape is None or x.shape[1] is None:
        return TensorType(signal, None if x.shape is None else (x.shape[0], None))
    half = _half(2 * operator.index(x.shape[1]) - 2)
    wanted = (_count(half) + half,)
    require(turns.shape in (None, wanted), f"turns have shape {turns.shape}, and must have shape {wanted}")
    return TensorType(signal, (x.shape[0], 2 * half))


def _numpy_signal(x: np.ndarray, turns: np.ndarray, scale: float = 1.0) -> np.ndarray:
    half = x.shape[1] - 1
    kept, factors = x.copy(), turns[-half:].copy()
    kept[:, [0, -1]] = kept[:, [0, -1]].real
    factors[0] = 1
    one, other = kept[:, :-1], kept[:, :0:-1].conj()
    z = _numpy_stages((one + other + 1j * factors * (one - other))[:, :, None], turns[:-half], True)[:, :, 0]
    made = np.stack([z.real, z.imag], -1).reshape(len(x), 2 * half) * scale
    return made.astype("f4" if x.dtype == "c8" else "f8")


@routine(
    type=_signal_type, numpy=_numpy_signal, dtypes=COMPLEX, differentiable=False,
    long=_on_a_gpu, expand=lambda x, turns, scale=1.0: signal_of_pairs(x, staged) * scale,
    samples=[
        Sample(real(2, 41), fixed(half_turns(80, True)), scale=0.5),
        Sample(real(3, 33), fixed(half_turns(64, True))),
        Sample(real(0, 33), fixed(half_turns(64, True))),
    ],
)  # fmt: skip
def irfft_rows(outs: tuple[Out, ...], x: View, turns: View, *, scale: float = 1.0) -> Described | tuple[()]:
    """Rows of real numbers from the first half of their transforms, multiplied by `scale` and their number.

    `turns` are those of `half_turns`, inverse ones. The imaginary parts at both ends of a row count as zero.
    """
    (out,) = outs
    batch, half = x.shape[0], operator.index(x.shape[1]) - 1
    if same(batch, 0):
        return ()
    row = Index("row", batch)
    stages = _Stages(half, 1, lambda at: turns[at], True, out.dtype)
    start, put = stages.memory(1)

    def between(k: Index) -> Body:
        one, other = x[row, k + 1], scalar.conjugate(x[row, half - 1 - k])
        a, b = parts(one + other), parts((one - other) * turns[_count(half) + 1 + k])
        return put(k + 1, _ZERO, scalar.complex(a[0] - b[1], a[1] + b[0]))

    def write(place: Expr, _: Expr, value: Expr) -> Body:
        return tuple(Store(out.buffer, (row, place * 2 + part), v) for part, v in enumerate(parts(value)))

    low, high = scalar.real(x[row, 0]), scalar.real(x[row, half])
    first = put(_ZERO, _ZERO, scalar.complex(low + high, low - high))
    body = (*first, stages.lanes(half - 1, between), *stages.body(start, write, scale))
    return Described(nested((row,), body, LoopKind.PARALLEL), scratch=stages.scratch)
