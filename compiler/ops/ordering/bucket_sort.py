"""Few long rows of keys in order: into buckets by their highest digit, then each bucket in a near cache.

    keys 712 31 705 98 14, in three buckets     31 98 14 |  | 712 705     14 31 98 |  | 705 712

All threads count the digits of chunks of a row, and bring the keys into buckets. Then each sorts some of the
buckets (`buckets.py`). The digit is taken of the difference to the lowest key, so that keys which are
near to each other have different ones.

Equal keys may change places, so this is for results of which only the keys are seen. These do not depend on
the number of threads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, bool_, int64, uint32
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
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
from staticgraph.compiler.ops.kinds import Described
from staticgraph.compiler.ops.ordering.buckets import Bucket
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch, whole

_FEW_ROWS = 4  # that are cut into chunks
_CHUNK, _CHUNKS = 1 << 13, 32  # keys of a chunk at least, and chunks of a row at most
_DIGIT = 10  # bits: buckets of a million keys fit into the second cache
_PLACES = 1 << _DIGIT
_TASKS = 32  # buckets that are next to each other belong to different ones, as their sizes tend to be alike
_STRIP = 512  # keys that are made at a time
_UNIT = 64  # keys: chunks begin and end with whole vectors
_OF_KEYS = "bucket_keys", "bucket_ends", "bucket_shift"  # scratch memory that holds keys


def is_worth(rows: AnySize, length: int) -> bool:
    """Return True if rows are so few and so long that all threads should work at each."""
    return not isinstance(rows, Size) and rows < _FEW_ROWS and length >= 2 * _CHUNK


class BucketSort:
    """The lowest `count` keys of each row of `length` unsigned numbers `key(column)`, in order.

    `put(place, key)` is the statement that writes one of them. `unusual(column)` is a condition on elements;
    `any_unusual` tells afterwards if it was true of one of a row.
    """

    def __init__(
        self,
        rows: tuple[Index, ...],
        length: int,
        count: int,
        dtype: DType,
        key: Callable[[Expr], Expr],
        put: Callable[[Expr, Expr], Store],
        unusual: Callable[[Expr], Expr] | None = None,
    ) -> None:
        self.rows, self.length, self.count, self.dtype = rows, length, count, dtype
        self.key, self.put, self.unusual = key, put, unusual
        self.chunks = min(_CHUNKS, length // _CHUNK)
        self.room = 1 << (length - 1).bit_length()
        self.fresh = Fresh()

    @property
    def scratch(self) -> Scratch:
        """The memory for keys and counts."""
        shapes = {
            "bucket_keys": (self.dtype, (2, self.room)),
            "bucket_counts": (uint32, (self.chunks, _PLACES)),
            "bucket_starts": (uint32, (_PLACES + 1,)),
            "bucket_ends": (
                self.dtype,
                (self.chunks + 1, 2),
            ),  # the lowest and the greatest key, of all at last
            "bucket_shift": (self.dtype, (1,)),
            "bucket_unusual": (uint32, (self.chunks + 1,)),
        }
        rows = tuple(operator.index(index.extent) for index in self.rows)  # no open one is worth this
        shared = {
            name: Buffer(dtype, (*rows, *shape), written=True, shared=True)
            for name, (dtype, shape) in shapes.items()
        }
        private = {
            name: Buffer(self.dtype, (_STRIP,), written=True, local=True)
            for name in ("counted_strip", "moved_strip")
        }
        return {**shared, **private, **Bucket.scratch()}

    def described(self) -> Described:
        """The statements, with their scratch memory."""
        body = (
            self._measured(),
            self._ranged(),
            self._counted(),
            self._begun(),
            self._moved(),
            self._finished(),
        )
        return Described(body, scratch=self.scratch)

    @property
    def any_unusual(self) -> Expr:
        """A condition: one element of the row is unusual."""
        return scalar.ne(self._load("bucket_unusual", self.chunks), Const(0, uint32))

    # Phases.

    def _measured(self) -> Loop:
        """Find the lowest and the greatest key of each chunk."""
        chunk, low, high = self._chunk(), self._local("low"), self._local("high")
        special, key = self.fresh.local("special", bool_), self._local("key")
        i = self.fresh.index("i", self.length)
        each: Body = (
            Let(key, self.key(i)),
            Update(low, scalar.minimum(low, key), "minimum"),
            Update(high, scalar.maximum(high, key), "maximum"),
        )
        if self.unusual is not None:
            each += (Update(special, special | self.unusual(i), "or"),)
        body = (
            Let(low, Const(self.dtype.max, self.dtype)),
            Let(high, Const(0, self.dtype)),
            Let(special, Const(False, bool_)),
            Loop(i, each, LoopKind.SIMD, Share(chunk, self.chunks, _UNIT)),
            self._store("bucket_ends", (chunk, 0), low),
            self._store("bucket_ends", (chunk, 1), high),
            self._store("bucket_unusual", (chunk,), scalar.cast(special, uint32)),
        )
        return self._everywhere(chunk, body)

    def _ranged(self) -> Loop:
        """Find the lowest key of the row, and how far a key above it is shifted to give its highest digit."""
        low, high, special = self._local("low"), self._local("high"), self.fresh.local("special", uint32)
        span, shift = self._local("span"), self._local("shift")

        def chunk(c: Index) -> Body:
            return (
                Update(low, scalar.minimum(low, self._load("bucket_ends", c, 0))),
                Update(high, scalar.maximum(high, self._load("bucket_ends", c, 1))),
                Update(special, special | self._load("bucket_unusual", c)),
            )

        one = Const(1, self.dtype)
        return self._once(
            Let(low, Const(self.dtype.max, self.dtype)),
            Let(high, Const(0, self.dtype)),
            Let(special, Const(0, uint32)),
            self.fresh.each(self.chunks, chunk),
            Let(span, (high - low) >> Const(_DIGIT, self.dtype)),
            Let(shift, Const(0, self.dtype)),
            While(span > Const(0, self.dtype), (Update(span, span >> one), Update(shift, shift + one))),
            self._store("bucket_ends", (self.chunks, 0), low),
            self._store("bucket_shift", (0,), shift),
            self._store("bucket_unusual", (self.chunks,), special),
        )

    def _counted(self) -> Loop:
        """Count the highest digits of each chunk."""
        chunk, digit = self._chunk(), self.fresh.local("digit", int64)

        def count(key: Expr, shift: Expr) -> Body:
            more = self._load("bucket_counts", chunk, digit) + 1
            return Let(digit, _top(key, shift)), self._store("bucket_counts", (chunk, digit), more)

        def clear(d: Index) -> Body:
            return (self._store("bucket_counts", (chunk, d), Const(0, uint32)),)

        body = (self.fresh.lanes(_PLACES, clear), *self._each_key(chunk, "counted_strip", count))
        return self._everywhere(chunk, body)

    def _begun(self) -> Loop:
        """Turn counts into places: those before a chunk with the same digit, and those with lower digits."""
        total, here = self.fresh.local("total", uint32), self.fresh.local("here", uint32)

        def clear(d: Index) -> Body:
            return (self._store("bucket_starts", (d,), Const(0, uint32)),)

        def chunk(c: Index) -> Body:
            def add(d: Index) -> Body:
                own = self.fresh.local("own", uint32)
                return (
                    Let(own, self._load("bucket_counts", c, d)),
                    self._store("bucket_counts", (c, d), self._load("bucket_starts", d)),
                    self._store("bucket_starts", (d,), self._load("bucket_starts", d) + own),
                )

            return (self.fresh.lanes(_PLACES, add),)

        def start(d: Index) -> Body:
            return (
                Let(here, self._load("bucket_starts", d)),
                self._store("bucket_starts", (d,), total),
                Update(total, total + here),
            )

        return self._once(
            self.fresh.lanes(_PLACES, clear),
            self.fresh.each(self.chunks, chunk),
            Let(total, Const(0, uint32)),
            self.fresh.each(_PLACES, start),
            self._store("bucket_starts", (_PLACES,), total),
        )

    def _moved(self) -> Loop:
        """Bring the keys of each chunk, less the lowest one of the row, into buckets."""
        chunk = self._chunk()
        digit, place = self.fresh.local("digit", int64), self.fresh.local("place", uint32)

        def add(d: Index) -> Body:
            sum_ = self._load("bucket_counts", chunk, d) + self._load("bucket_starts", d)
            return (self._store("bucket_counts", (chunk, d), sum_),)

        def move(key: Expr, shift: Expr) -> Body:
            return (
                Let(digit, _top(key, shift)),
                Let(place, self._load("bucket_counts", chunk, digit)),
                self._store("bucket_counts", (chunk, digit), place + 1),
                self._store("bucket_keys", (0, scalar.cast(place, int64) & (self.room - 1)), key),
            )

        body = (self.fresh.lanes(_PLACES, add), *self._each_key(chunk, "moved_strip", move))
        return self._everywhere(chunk, body)

    def _finished(self) -> Loop:
        """Sort each bucket, and write what is in it."""
        task = self.fresh.index("task", _TASKS)
        first, last = self.fresh.local("first", int64), self.fresh.local("last", int64)
        low, bits = self._local("low"), self._local("bits")

        def put(side: Expr, place: Expr, key: Expr) -> Store:
            return self._store("bucket_keys", (side, place), key)

        def load(side: Expr, place: Expr) -> Load:
            return self._load("bucket_keys", side, place)

        def one(turn: Index) -> Body:
            number = turn * _TASKS + task
            bucket = Bucket(first, last, bits, self.length, load, put, self.fresh)
            write = bucket.written(self.count, lambda place, key: self.put(place, key + low))
            return (
                Let(first, scalar.cast(self._load("bucket_starts", number), int64)),
                Let(last, scalar.cast(self._load("bucket_starts", number + 1), int64)),
                If((first < last) & (first < self.count), (*bucket.sorted(), *write)),
            )

        body = (
            Let(low, self._load("bucket_ends", self.chunks, 0)),
            Let(bits, self._load("bucket_shift", 0)),
            self.fresh.each(_PLACES // _TASKS, one),
        )
        return self._everywhere(task, body)

    # Parts of phases.

    def _chunk(self) -> Index:
        return self.fresh.index("chunk", self.chunks)

    def _local(self, name: str) -> Local:
        return self.fresh.local(name, self.dtype)

    def _everywhere(self, inner: Index, body: Body) -> Loop:
        """`body` for all rows and all values of `inner`, on all threads."""
        for index in (inner, *reversed(self.rows)):
            body = (Loop(index, body, LoopKind.PARALLEL),)
        return _only(body)

    def _once(self, *body: Stmt) -> Loop:
        """`body` for each row, on one thread."""
        for index in self.rows[::-1] or (Index("once", 1),):
            body = (Loop(index, body),)
        return _only(body)

    def _each_key(self, chunk: Index, strip: str, body: Callable[[Expr, Expr], Body]) -> Body:
        """`body(key, shift)` for the keys of a chunk, less the lowest of the row, made in vector lanes."""
        count, rest = divmod(self.length, _STRIP)
        low, shift, key = self._local("low"), self._local("shift"), self._local("key")

        def some(count: int, first: Expr) -> Body:
            def make(i: Index) -> Body:
                return (Store(strip, (i,), self.key(first + i) - low),)

            def use(i: Index) -> Body:
                return Let(key, Load(strip, (i,), self.dtype)), *body(key, shift)

            return self.fresh.lanes(count, make), self.fresh.each(count, use)

        number = self.fresh.index("strip", count)
        strips = Loop(number, some(_STRIP, number * _STRIP), share=Share(chunk, self.chunks))
        last = (If(scalar.eq(chunk, 0), some(rest, Const(count * _STRIP, int64))),) if rest else ()
        lets = Let(low, self._load("bucket_ends", self.chunks, 0)), Let(shift, self._load("bucket_shift", 0))
        return (*lets, strips, *last)

    def _load(self, name: str, *at: Expr | int) -> Load:
        dtype = self.dtype if name in _OF_KEYS else uint32
        return Load(name, (*self.rows, *map(whole, at)), dtype)

    def _store(self, name: str, at: tuple[Expr | int, ...], value: Expr) -> Store:
        return Store(name, (*self.rows, *map(whole, at)), value)


def _top(key: Expr, shift: Expr) -> Expr:
    """The highest digit."""
    below = Const(8 * key.dtype.size - 1, key.dtype)  # no test in a loop if a shift is sure to be so
    return scalar.cast((key >> (shift & below)) & Const(_PLACES - 1, key.dtype), int64)


def _only(body: Body) -> Loop:
    (loop,) = body
    assert isinstance(loop, Loop)
    return loop
