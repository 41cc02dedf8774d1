"""Places of numbers by their values: a table of counters or an open-addressing hash table, in the kernel IR.

An entry of the table is the place of a number in a list, plus one; zero says that there is none:

    list 7 31 12        table  0 3 0 0 1 2 0 0

Integers that are near to each other have an entry each. Any other number stands at the entry that its bits
are mixed to, or at the first free one behind it. The table begins small, and doubles as soon as half of it is
full: so a few different numbers stay in the nearest cache, and a search looks at few entries whatever the
numbers are. Numbers are equal as `==` has it: both zeros are the same number, and NaN equals nothing, so it
never enters the table.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import UNSIGNED, DType, bool_, float32, int32, int64, uint8, uint64
from staticgraph.compiler.graph.sizes import AnySize, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, number
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Store, Update, While
from staticgraph.compiler.ops.statements.strips import Body, Fresh

_BEGIN = 1 << 12  # entries of the first table, which the nearest cache has room for
_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93  # odd numbers without a pattern in their bits

Element = Callable[[Expr], Expr]


def room(count: AnySize) -> AnySize:
    """The entries that a table for so many numbers needs, all of them different."""
    return count * 2 + _BEGIN


class NumberTable:
    """A table of numbers in a list.

    Args:
        buffer: The memory of the table: of int32, with `room(count)` elements.
        entries: Their number.
        listed: The number at a place of the list. Any place that the list has room for may be asked for.
        dtype: That of the numbers.
    """

    def __init__(self, buffer: str, entries: AnySize, listed: Element, dtype: DType, fresh: Fresh) -> None:
        self.buffer, self.entries, self.listed, self.dtype, self.fresh = buffer, entries, listed, dtype, fresh
        self.count, self.slots = (fresh.local(name, int64) for name in ("count", "slots"))
        self.near = fresh.local("near", bool_)
        self.whole = dtype is bool_ or dtype.is_integer
        self.low = fresh.local("low", uint8 if dtype is bool_ else dtype)

    def begun(self, length: AnySize, element: Element) -> Body:
        """Begin with an empty list, for the numbers of a vector."""
        near: Body = ()
        slots: Expr = Const(_BEGIN, int64)
        if self.whole:
            near, span = self._measured(length, element)
            slots = scalar.select(self.near, span + 1, slots)
        return (
            *near,
            Let(self.count, Const(0, int64)),
            Let(self.slots, slots),
            self._cleared(),
        )

    def _measured(self, length: AnySize, element: Element) -> tuple[Body, Local]:
        """Look if the numbers are near to each other. Also return how far the greatest is from the lowest."""
        dtype, i = self.low.dtype, self.fresh.index("i", length)
        high, span = self.fresh.local("high", dtype), self.fresh.local("span", int64)
        x = scalar.cast(element(i), dtype)
        extremes = (
            Update(self.low, scalar.minimum(self.low, x), "minimum"),
            Update(high, scalar.maximum(high, x), "maximum"),
        )
        far = self._distance(high)
        return (
            Let(self.low, Const(dtype.max, dtype)),
            Let(high, Const(dtype.min, dtype)),
            *(() if same(length, 0) else (Loop(i, extremes, LoopKind.SIMD),)),
            Let(self.near, (self.low <= high) & (far < scalar.cast(self._entries, uint64))),
            Let(span, scalar.select(self.near, scalar.cast(far, int64), Const(0, int64))),
        ), span

    def _distance(self, x: Expr) -> Expr:
        """The difference between an integer and the lowest one."""
        x = scalar.cast(x, self.low.dtype)
        return scalar.cast(scalar.bitcast(x - self.low, UNSIGNED[x.dtype.size]), uint64)

    def each(self, length: AnySize, body: Callable[[Index, bool], Body]) -> Body:
        """`body(i, near)` for all `i` below `length`: one loop for numbers that are near, one for others."""
        if same(length, 0):
            return ()
        far = self.fresh.each(length, lambda i: body(i, False))
        if not self.whole:
            return (far,)
        near = self.fresh.each(length, lambda i: body(i, True))
        return If(self.near, (near,)), If(~self.near, (far,))

    def found(self, x: Expr, near: bool) -> tuple[Local, Local, Body]:
        """Look for a number: the entry with it, or else the free one for it, and what is there."""
        slot, entry = self.fresh.local("slot", int64), self.fresh.local("entry", int32)
        if near:
            far = self._distance(x)
            last = scalar.cast(self.slots - 1, uint64)
            place = scalar.cast(scalar.minimum(far, last), int64)
            inside = scalar.select(far <= last, self._at(slot), Const(0, int32))
            return slot, entry, (Let(slot, place), Let(entry, inside))
        other = self.listed(scalar.cast(scalar.maximum(entry - 1, 0), int64))
        search = While((entry > 0) & scalar.ne(other, x), self._next(slot, entry))
        return slot, entry, (Let(slot, self._first(x)), Let(entry, self._at(slot)), search)

    def added(self, x: Expr, slot: Expr, entry: Expr, near: bool) -> Body:
        """Count one more number of the list, `x`. It belongs to `slot` if there is no equal `entry`."""
        full = (self.count * 2 > self.slots) & (self.slots < self._entries)
        enters = entry < 1 if near else (entry < 1) & scalar.eq(x, x)
        return (
            Update(self.count, self.count + 1),
            If(enters, (Store(self.buffer, (slot,), scalar.cast(self.count, int32)),)),
            *(() if near else (If(full, self._grown()),)),
        )

    @property
    def _entries(self) -> Expr:
        return number(self.entries, int64)

    def _at(self, slot: Expr) -> Load:
        return Load(self.buffer, (slot,), int32)

    def _next(self, slot: Local, entry: Local) -> Body:
        following = scalar.select(slot < self.slots - 1, slot + 1, Const(0, int64))
        return Update(slot, following), Update(entry, self._at(slot))

    def _first(self, x: Expr) -> Expr:
        key = _bits(x)
        half = Const(32, uint64)
        mixed = (key ^ (key >> half)) * Const(_FIRST, uint64)
        mixed = (mixed ^ (mixed >> half)) * Const(_SECOND, uint64)
        return scalar.cast(((mixed >> half) * scalar.cast(self.slots, uint64)) >> half, int64)

    def _cleared(self) -> Loop:
        def clear(slot: Index) -> Body:
            return (Store(self.buffer, (slot,), Const(0, int32)),)

        return self.fresh.between(0, self.slots, self.entries, clear, "slot")

    def _grown(self) -> Body:
        """Put the whole list into a table of twice the size."""

        def again(place: Index) -> Body:
            x = self.fresh.local("again", self.dtype)
            slot, entry = self.fresh.local("slot", int64), self.fresh.local("entry", int32)
            return (
                Let(x, self.listed(place)),
                Let(slot, self._first(x)),
                Let(entry, self._at(slot)),
                While(entry > 0, self._next(slot, entry)),
                If(scalar.eq(x, x), (Store(self.buffer, (slot,), scalar.cast(place + 1, int32)),)),
            )

        return (
            Update(self.slots, scalar.minimum(self.slots * 2, self._entries)),
            self._cleared(),
            self.fresh.between(0, self.count, self.entries, again, "place"),
        )


def _bits(x: Expr) -> Expr:
    """Bits that are the same for equal numbers."""
    dtype = x.dtype
    if dtype.is_complex:
        return _bits(scalar.real(x)) * Const(_FIRST, uint64) ^ _bits(scalar.imag(x))
    if dtype.is_floating:
        x = x if dtype.size > 2 else scalar.cast(x, float32)
        x = scalar.select(scalar.eq(x, 0), Const(0, x.dtype), x)  # no negative zero
        return scalar.cast(scalar.bitcast(x, UNSIGNED[x.dtype.size]), uint64)
    unsigned = x if dtype is bool_ or dtype.is_unsigned else scalar.bitcast(x, UNSIGNED[dtype.size])
    return scalar.cast(unsigned, uint64)
