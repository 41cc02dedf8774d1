"""Trip counts and bounds of loops, and vector loops whose trip counts are known only when they run: of an
open extent, or over a part of an axis.

There are whole vectors of several registers, of one, and a vector with a mask for the lanes beyond the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from staticgraph.compiler.codegen.llvm import memory
from staticgraph.compiler.codegen.llvm.expr import ExprPrinter, LlvmValue
from staticgraph.compiler.codegen.llvm.lanes import horizontal
from staticgraph.compiler.codegen.llvm.memory import lanes_before
from staticgraph.compiler.codegen.llvm.text import Emitter, Site
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, same
from staticgraph.compiler.kernel.expr import Local, identity
from staticgraph.compiler.kernel.stmt import Loop, Share, Span, Stmt
from staticgraph.compiler.machine import CPU


class Vectors(Protocol):
    """The vectors of a loop whose extent is known when it runs."""

    first: str
    """The first iteration."""

    end: str
    """The one after the last."""

    def whole(self, lanes: int) -> str:
        """The iteration after the last one in whole vectors, of a power of two lanes."""
        ...

    def rest_mask(self, lanes: int) -> str:
        """The mask of the iterations that are not in whole vectors."""
        ...


class TripCounts:
    """Prints the bounds of loops. What depends on sizes alone is computed once, as the function begins."""

    def __init__(self, printer: ExprPrinter) -> None:
        self._printer = printer

    def extent(self, size: AnySize) -> str:
        """The number of iterations: none if an open extent is negative."""
        text = self._printer.extent(size)
        if not isinstance(size, Size) or bounds(size)[0] >= 0:
            return text
        negative = self._once(f"icmp slt i64 {text}, 0")
        return self._once(f"select i1 {negative}, i64 0, i64 {text}")

    def bounds(self, loop: Loop, extent: str) -> tuple[str, str]:
        """The first iteration that a loop runs and the one after the last, of the first `extent`."""
        share, emitter, iterations = loop.share, self._printer.emitter, loop.index.extent
        match share:
            case None:
                return "0", extent
            case Span(start, stop):
                low, high = (self._printer.value(e).text for e in (start, stop))
                if not low.isdecimal():
                    low = emitter.call("i64", "llvm.smax.i64", ("i64", low), ("i64", "0"))
                return low, emitter.call("i64", "llvm.smin.i64", ("i64", high), ("i64", extent))
        if isinstance(iterations, Size):
            units = self._once(f"udiv i64 {self.extent(iterations)}, {share.unit}")
        else:
            units = str(iterations // share.unit)
        part, count = self._printer.value(share.part).text, self._printer.extent(share.count)
        following = emitter.value(f"add nuw nsw i64 {part}, 1")

        def first(part: str) -> str:
            before = emitter.value(f"mul nuw nsw i64 {part}, {units}")
            whole = emitter.value(f"udiv i64 {before}, {count}")
            return emitter.value(f"mul nuw nsw i64 {whole}, {share.unit}")

        last = emitter.value(f"icmp eq i64 {following}, {count}")
        return first(part), emitter.value(f"select i1 {last}, i64 {extent}, i64 {first(following)}")

    def vectors(self, loop: Loop, lanes: int, *others: int) -> tuple[Vectors | None, tuple[str, str]]:
        """The vectors of a loop over a span, or of an open extent, of so many lanes; None for other loops.

        And the bounds of its iterations in whole vectors of `lanes`.
        """
        extent = loop.index.extent
        if isinstance(loop.share, Span):
            ends = self.bounds(loop, self.extent(extent))
            spanned = SpanVectors(self._printer.emitter, *ends, lanes, *others)
            return spanned, (spanned.first, spanned.whole(lanes))
        bounds = self.bounds(loop, self.whole(extent, lanes))
        return (OpenVectors(self, extent) if isinstance(extent, Size) else None), bounds

    def whole(self, extent: AnySize, lanes: int) -> str:
        """The iterations in whole vectors. The number of lanes is a power of two."""
        if isinstance(extent, Size):
            return self._once(f"and i64 {self.extent(extent)}, {-lanes}")
        return str(extent // lanes * lanes)

    def rest(self, extent: AnySize, lanes: int) -> str:
        """The iterations that are not in whole vectors."""
        if isinstance(extent, Size):
            return self._once(f"and i64 {self.extent(extent)}, {lanes - 1}")
        return str(extent % lanes)

    def rest_mask(self, extent: Size, lanes: int) -> str:
        """The mask of the iterations that are not in whole vectors."""
        key, emitter = ("mask", extent, lanes), self._printer.emitter
        known = self._printer.find(key)
        if known is None:
            rest = self.rest(extent, lanes)
            with emitter.at(0):
                known = LlvmValue(lanes_before(emitter, rest, lanes), lanes)
            self._printer.bind(key, known)
        return known.text

    def is_large(self, size: Size, expected: bool) -> str:
        """A condition: a result of so many bytes is large, or is not."""
        order = "sge" if expected else "slt"
        return self._once(f"icmp {order} i64 {self._printer.extent(size)}, {CPU.streamed_bytes}")

    def some(self, first: str, after: str, share: Share | Span | None = None) -> str:
        """A condition: there are iterations from `first` on, before `after`, and `share` is the last one."""
        emitter = self._printer.emitter
        found = emitter.value(f"icmp slt i64 {first}, {after}")
        if not isinstance(share, Share):
            return found
        following = emitter.value(f"add nuw nsw i64 {self._printer.value(share.part).text}, 1")
        last = emitter.value(f"icmp eq i64 {following}, {self._printer.extent(share.count)}")
        return emitter.value(f"and i1 {last}, {found}")

    def _once(self, text: str) -> str:
        """The result of an instruction on sizes."""
        known = self._printer.find(text)
        if known is None:
            with self._printer.emitter.at(0):
                known = LlvmValue(self._printer.emitter.value(text))
            self._printer.bind(text, known)
        return known.text


class OpenVectors:
    """The vectors of a loop of an open extent: their ends are computed once."""

    def __init__(self, trips: TripCounts, extent: Size) -> None:
        self._trips, self._extent = trips, extent
        self.first, self.end = "0", trips.extent(extent)

    def whole(self, lanes: int) -> str:
        """See `Vectors`."""
        return self._trips.whole(self._extent, lanes)

    def rest_mask(self, lanes: int) -> str:
        """See `Vectors`."""
        return self._trips.rest_mask(self._extent, lanes)


class SpanVectors:
    """The vectors of the iterations from `first` to the one before `end`, found as the loop begins.

    `widths`: the numbers of lanes that are asked for.
    """

    def __init__(self, emitter: Emitter, first: str, end: str, *widths: int) -> None:
        self._emitter, self.first, self.end = emitter, first, end
        count = end if first == "0" else emitter.value(f"sub i64 {end}, {first}")
        count = emitter.call("i64", "llvm.smax.i64", ("i64", count), ("i64", "0"))
        self._whole = {lanes: self._last(f"and i64 {count}, {-lanes}") for lanes in dict.fromkeys(widths)}

    def _last(self, iterations: str) -> str:
        whole = self._emitter.value(iterations)
        return whole if self.first == "0" else self._emitter.value(f"add i64 {self.first}, {whole}")

    def whole(self, lanes: int) -> str:
        """See `Vectors`."""
        return self._whole[lanes]

    def rest_mask(self, lanes: int) -> str:
        """See `Vectors`."""
        rest = self._emitter.value(f"sub i64 {self.end}, {self._whole[lanes]}")
        return lanes_before(self._emitter, rest, lanes)


Body = tuple[Stmt, ...]


class _Writer(Protocol):
    """Writes the function of a kernel."""

    printer: ExprPrinter
    mask: memory.Mask | None

    def inside(self, body: Body) -> AbstractContextManager[None]: ...
    def guarded(self, test: str, body: Body, write: Callable[[], object]) -> None: ...
    def lanes(self, body: Body, carried: list[Local], first: str) -> list[str]: ...
    def assign(self, local: Local, text: str) -> None: ...
    def assign_all(self, carried: list[Local], texts: list[str]) -> None: ...
    def vectors(
        self, body: Body, carried: list[Local], first: str, after: str, opaque: bool = False
    ) -> None: ...


def open_vectors(
    writer: _Writer,
    trips: TripCounts,
    loop: Loop,
    ends: Vectors,
    registers: int,
    bounds: tuple[str, str],
    reduced: dict[Local, str],
) -> None:
    """Write a loop of an open extent or a span.

    After several registers the last vectors of a span are all masked, so that they share their code.

    Args:
        writer: Writes the kernel.
        trips: Prints trip counts.
        loop: The loop.
        ends: Its vectors.
        registers: Those of a vector; it has the lanes of the printer.
        bounds: The iterations in such vectors; the others belong to the last share. There may be none.
        reduced: The locals that the loop reduces into, and how.
    """
    printer, emitter, lanes = writer.printer, writer.printer.emitter, writer.printer.lanes
    spans = isinstance(loop.share, Span)
    extent, carried = 1 if spans else loop.index.extent, list(reduced)
    vectors = partial(writer.vectors, loop.body, carried, opaque=spans)

    def left() -> None:
        writer.mask = memory.Mask(ends.rest_mask(printer.lanes), guards=False)
        writer.lanes(loop.body, carried, ends.whole(printer.lanes))
        writer.mask = None

    def started(lanes: int) -> None:
        printer.lanes = lanes
        for local, combine in reduced.items():
            site = Site(emitter, local.dtype, lanes)
            writer.assign(local, site.const(identity(combine, local.dtype).value))

    def folded() -> None:
        started(lanes)
        vectors(*bounds)
        parts = [
            horizontal(Site(emitter, local.dtype, lanes), combine, printer.vector(local), one)
            for local, combine in reduced.items()
        ]
        printer.lanes = one
        writer.assign_all(carried, parts)

    if registers > 1 and not same(extent % lanes, 0):
        # Partial results become those of one register only if there are more: it takes as long as a row.
        one = lanes // registers
        started(one)
        writer.guarded(trips.some(*bounds), loop.body, folded)
        if spans and not reduced:
            last = ends.whole(lanes), ends.end
            writer.guarded(trips.some(*last), loop.body, lambda: _masked(writer, loop.body, *last))
            return
        between = ends.whole(lanes), ends.whole(one)
        writer.guarded(trips.some(*between, loop.share), loop.body, lambda: vectors(*between))
    else:
        writer.guarded(trips.some(*bounds), loop.body, lambda: vectors(*bounds))
    if not same(extent % printer.lanes, 0):
        end = ends.whole(printer.lanes), ends.end
        writer.guarded(trips.some(*end, loop.share), loop.body, left)


def _masked(writer: _Writer, body: Body, first: str, end: str) -> None:
    """Write the iterations from `first` on, before `end`, of which there are some: vectors with masks."""
    emitter, lanes = writer.printer.emitter, writer.printer.lanes
    with emitter.loop(first, end, lanes, opaque=True) as values, writer.inside(body):
        left = emitter.value(f"sub i64 {end}, {values.index}")
        writer.mask = memory.Mask(memory.lanes_before(emitter, left, lanes), guards=False)
        writer.lanes(body, [], values.index)
        writer.mask = None
