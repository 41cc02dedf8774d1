"""Positions of what is true, and of the members of groups: the native part of `where` and of partitions.

    true_positions(0 1 1 0)   ->   1 2 0 0,  and 2 positions

Results have room for the most positions that are possible, and zeros behind those that there are. How many
there are is a result, too: `selection.py` takes as much of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, bool_, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, operand_shape, shape_text
from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, number
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    LoopKind,
    Share,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, indices, real
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole

_CHUNK, _CHUNKS = 1 << 13, 16  # elements of a chunk at least, and chunks at most
_BLOCK = 64  # elements that are looked at together


def vector(x: TensorType, name: str) -> AnySize | None:
    """Return the length of a vector for a type rule, None if it is not known."""
    require(x.rank in (None, 1), f"{name} must be a vector, not of shape {shape_text(x.shape)}")
    return x.shape[0] if x.shape else None


def _chunks(length: AnySize) -> int:
    return _CHUNKS if isinstance(length, Size) else max(1, min(_CHUNKS, length // _CHUNK))


def _start(chunk: Expr, length: AnySize) -> Expr:
    """The first place of a chunk, as `Share` has it."""
    return chunk * number(length, int64) // _chunks(length)


def zeros_behind(fresh: Fresh, count: Out, *outs: Out) -> Body:
    """Store zeros behind the first elements of `outs`, whose number `count` holds, on all threads."""
    length = outs[0].shape[0]
    if any(same(n, 0) for n in outs[0].shape):
        return ()
    chunk = fresh.index("chunk", _chunks(length))
    start, end = (fresh.local(name, int64) for name in ("start", "end"))

    def clear(row: Index) -> Body:
        places = ((out, (row, *map(whole, at))) for out in outs for at in np.ndindex(*out.shape[1:]))
        return tuple(Store(out.buffer, at, Const(0, out.dtype)) for out, at in places)

    body = (
        Let(start, scalar.maximum(_start(chunk, length), count[0])),
        Let(end, _start(chunk + 1, length)),
        fresh.between(start, end, length, clear, "row"),
    )
    return (Loop(chunk, body, LoopKind.PARALLEL),)


def _true_types(condition: TensorType, shape: Any) -> tuple[TensorType, TensorType]:
    sizes = operand_shape(shape, "shape")
    rank = None if sizes is None else len(sizes)
    n = vector(condition, "condition")
    count = None if sizes is None or None in sizes else math.prod(n for n in sizes if n is not None)
    fits = n is None or count is None or same(n, count)
    require(fits, f"a condition of {n} elements is not that of a tensor of shape {shape_text(sizes)}")
    return TensorType(int64, (n, rank)), TensorType(int64, (1,))


def _true_positions(condition: np.ndarray, shape: Any) -> tuple[np.ndarray, np.ndarray]:
    if not condition.size:  # other sizes may be larger than NumPy takes
        return np.zeros((0, len(shape)), np.int64), np.array([0])
    found = np.argwhere(condition.reshape(shape))
    room_left = np.zeros((len(condition) - len(found), len(shape)), np.int64)
    return np.concatenate([found.astype(np.int64), room_left]), np.array([len(found)])


@routine(
    type=_true_types, numpy=_true_positions, dtypes=ANY, differentiable=False,
    operands=("shape",), partial=("shape",),
    samples=[
        Sample(indices(12, below=2), shape=(12,)),
        Sample(indices(24, below=3), shape=(2, 3, 4)),
        Sample(real(0), shape=(0, 3)),
        Sample(indices(20_000, below=2), shape=(100, 200)),
    ],
)  # fmt: skip
def true_positions(outs: tuple[Out, ...], condition: View, *, shape: Any) -> Described:
    """The positions in a tensor of `shape` of what is true or not zero, in row-major order, and their number.

    The condition is flat. Chunks of it are counted at the same time; then each knows where its own begin.
    """
    return _TruePositions(outs, condition, tuple(shape)).described()


class _TruePositions:
    def __init__(self, outs: tuple[Out, ...], condition: View, shape: tuple[AnySize, ...]) -> None:
        self.out, self.total = outs
        self.condition, self.shape, self.fresh = condition, shape, Fresh()
        self.length = condition.shape[0]
        self.chunks = _chunks(self.length)

    def described(self) -> Described:
        """The statements, with the counts of chunks."""
        zero = whole(0)
        if same(self.length, 0):
            return Described((Loop(self.fresh.index("once", 1), (Store(self.total.buffer, (zero,), zero),)),))
        starts = Buffer(int64, (self.chunks + 1,), written=True, shared=True)
        body = (
            self._everywhere(self._counted),
            self._begun(),
            self._everywhere(self._written),
            *zeros_behind(self.fresh, self.total, self.out),
        )
        return Described(body, scratch={"starts": starts})

    def _everywhere(self, body: Callable[[Index], Body]) -> Loop:
        chunk = self.fresh.index("chunk", self.chunks)
        return Loop(chunk, body(chunk), LoopKind.PARALLEL)

    def _is_true(self, i: Expr) -> Expr:
        x = self.condition[i]
        if x.dtype.is_complex:
            return scalar.ne(scalar.real(x), 0) | scalar.ne(scalar.imag(x), 0)
        return x if x.dtype is bool_ else scalar.ne(x, Const(0, x.dtype))

    @staticmethod
    def _first(chunk: Expr | int) -> Load:
        return Load("starts", (whole(chunk),), int64)

    def _counted(self, chunk: Index) -> Body:
        count, i = self.fresh.local("count", int64), self.fresh.index("i", self.length)
        one = Update(count, count + scalar.cast(self._is_true(i), int64), "add")
        return (
            Let(count, whole(0)),
            Loop(i, (one,), LoopKind.SIMD, Share(chunk, self.chunks, _BLOCK)),
            Store("starts", (chunk,), count),
        )

    def _begun(self) -> Loop:
        """Turn the counts of chunks into the places where they begin."""
        total, here = self.fresh.local("total", int64), self.fresh.local("here", int64)

        def begin(chunk: Index) -> Body:
            return (
                Let(here, self._first(chunk)),
                Store("starts", (chunk,), total),
                Update(total, total + here),
            )

        body = (
            Let(total, whole(0)),
            self.fresh.each(self.chunks, begin),
            Store("starts", (whole(self.chunks),), total),
            Store(self.total.buffer, (whole(0),), total),
        )
        return Loop(self.fresh.index("once", 1), body)

    def _written(self, chunk: Index) -> Body:
        """Write the flat positions of a chunk, and turn them into coordinates.

        Blocks without any are left out. In others, each position is written whether it is one or not, but
        only what is true moves the place on.
        """
        rank = len(self.shape)
        if not rank:
            return ()
        first, place, end = (self.fresh.local(name, int64) for name in ("first", "place", "end"))

        def found(start: Expr, end: Expr) -> Body:
            i = self.fresh.local("i", int64)
            step: Body = (
                Store(self.out.buffer, (place, whole(rank - 1)), i),
                Update(place, place + scalar.cast(self._is_true(i), int64)),
                Update(i, i + 1),
            )
            return Let(i, start), While(place < end, step)

        def block(number: Index) -> Body:
            count, stop = self.fresh.local("count", int64), self.fresh.local("stop", int64)
            lane = self.fresh.index("lane", _BLOCK)
            more = Update(count, count + scalar.cast(self._is_true(number * _BLOCK + lane), int64), "add")
            some = (Let(stop, place + count), *found(number * _BLOCK, stop))
            return Let(count, whole(0)), Loop(lane, (more,), LoopKind.SIMD), If(count > 0, some)

        blocks = self.fresh.index("block", self.length // _BLOCK)
        each: Body = ()
        if not same(blocks.extent, 0):
            each = (Loop(blocks, block(blocks), share=Share(chunk, self.chunks)),)
        split = self.fresh.between(first, end, self.length, self._split, "found")
        return (
            Let(first, self._first(chunk)),
            Let(end, self._first(chunk + 1)),
            Let(place, first),
            *each,
            # What is no whole block belongs to the last chunk.
            *found(number(blocks.extent, int64) * _BLOCK, end),
            *((split,) if rank > 1 else ()),
        )

    def _split(self, found: Index) -> Body:
        """Store the coordinates of a flat position, which stands in the place of the last one."""
        rank = len(self.shape)
        rest = self.fresh.local("rest", int64)
        body: list[Stmt] = [Let(rest, self.out[found, rank - 1])]
        for axis in reversed(range(rank)):
            size = number(self.shape[axis], int64)
            at = rest % size if axis else rest
            body.append(Store(self.out.buffer, (found, whole(axis)), at))
            body.append(Update(rest, rest // size))
        return tuple(body[:-1])


def check_partitions(num_partitions: Any) -> None:
    """Refuse an impossible number of partitions, for a type rule."""
    positive = isinstance(num_partitions, int) and 0 < num_partitions < int32.max
    require(positive, f"num_partitions={num_partitions!r} is not a positive integer of 32 bits")


def _grouped_types(partitions: TensorType, num_partitions: int) -> tuple[TensorType, TensorType]:
    vector(partitions, "partitions")
    check_partitions(num_partitions)
    return TensorType(int32, partitions.shape), TensorType(int64, (num_partitions + 1,))


def _grouped_positions(partitions: np.ndarray, num_partitions: int) -> tuple[np.ndarray, np.ndarray]:
    group = np.where((partitions >= 0) & (partitions < num_partitions), partitions, num_partitions)
    counts = np.bincount(group, minlength=num_partitions + 1)
    return np.argsort(group, kind="stable").astype(np.int32), counts


@routine(
    type=_grouped_types, numpy=_grouped_positions, dtypes=frozenset({int32}), differentiable=False,
    long=lambda *_: True,
    samples=[
        Sample(indices(12, below=3), num_partitions=3),
        Sample(indices(40, below=9), num_partitions=7),
        Sample(indices(0, below=3), num_partitions=2),
        Sample(indices(5, below=1), num_partitions=1),
    ],
)  # fmt: skip
def grouped_positions(outs: tuple[Out, ...], partitions: View, *, num_partitions: int) -> Described:
    """The positions in a vector of each number below `num_partitions`, in order, and how many each one has.

    Numbers out of range are a last group.
    """
    out, counts = outs
    fresh = Fresh()
    last, length = num_partitions, partitions.shape[0]

    def group(i: Expr) -> tuple[Local, Body]:
        value, made = fresh.local("value", int32), fresh.local("group", int64)
        inside = (value >= 0) & (value < num_partitions)
        wide = scalar.cast(value, int64)
        return made, (Let(value, partitions[i]), Let(made, scalar.select(inside, wide, whole(last))))

    def clear(p: Index) -> Body:
        return (Store(counts.buffer, (p,), whole(0)),)

    def count(i: Index) -> Body:
        at, lets = group(i)
        return *lets, Store(counts.buffer, (at,), counts[at] + 1)

    def begin(p: Index) -> Body:
        return Store("starts", (p,), total), Update(total, total + counts[p])

    def write(i: Index) -> Body:
        at, lets = group(i)
        place = fresh.local("place", int64)
        return (
            *lets,
            Let(place, Load("starts", (at,), int64)),
            Store("starts", (at,), place + 1),
            Store(out.buffer, (place,), scalar.cast(i, int32)),
        )

    total = fresh.local("total", int64)
    groups = num_partitions + 1
    empty = same(length, 0)
    body = (
        fresh.each(groups, clear),
        *(() if empty else (fresh.each(length, count),)),
        Let(total, whole(0)),
        fresh.each(groups, begin),
        *(() if empty else (fresh.each(length, write),)),
    )
    scratch = {"starts": Buffer(int64, (groups,), written=True, local=True)}
    return Described((Loop(fresh.index("once", 1), body),), scratch=scratch)
