"""Vector loops whose trip counts are known when they run: of an open extent, or over a part of an axis.

There are whole vectors of several registers, of one, and a vector with a mask for the lanes beyond the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from staticgraph.compiler.codegen.llvm import memory
from staticgraph.compiler.codegen.llvm.expr import ExprPrinter
from staticgraph.compiler.codegen.llvm.lanes import horizontal
from staticgraph.compiler.codegen.llvm.loop_bounds import TripCounts, Vectors
from staticgraph.compiler.codegen.llvm.site import Site
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel.expr import Local, identity
from staticgraph.compiler.kernel.stmt import Loop, Span, Stmt

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
