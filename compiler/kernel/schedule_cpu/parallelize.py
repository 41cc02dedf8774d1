"""Parallelization: a kernel that is worth several threads becomes phases of chunks.

A loop is shared out: it becomes a parallel loop over chunks, each with its part of the iterations. All chunks
of a phase are done before the next phase begins.

A loop whose iterations are independent is shared out as it is, and if it has few iterations the loops inside
it too. Where those are reductions, as in column sums, they get partial results per chunk, which are added up
in a fixed order.

How many chunks there are depends on what the loop does and on nothing else: results must be the same for any
number of threads. A chunk takes a few microseconds, much longer than to claim it. If sizes are open, the
number of chunks is a size too, of the estimated time, and each finds its share when it runs.

What is not shared out and has nothing to do with a shared loop next to it, as the border of a picture, is
done by the first chunk of that loop.

A loop of a routine whose iterations follow each other may have parallel loops directly in it, such as the
steps of a blocked factorisation. Its iterations become phases too. They are written once: the function of a
phase finds the number of the iteration in the number of its chunk.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import groupby

from staticgraph.compiler.graph.open_sizes import lesser
from staticgraph.compiler.graph.sizes import (
    MANY,
    AnySize,
    Size,
    at_least,
    at_most,
    bounds,
    estimate,
    same,
    several,
)
from staticgraph.compiler.kernel.cost import is_for_several, nanoseconds, picoseconds
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, identity, substitute
from staticgraph.compiler.kernel.indices.extremes import apart, span
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, begun_with_stores, conflict, reductions
from staticgraph.compiler.kernel.loops.spill_across_phases import changed, connect
from staticgraph.compiler.kernel.scalar import read
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    PhaseCall,
    Share,
    Span,
    Stmt,
    Store,
    Update,
    opens,
    rewrite,
    whole,
)
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass, replace

Body = tuple[Stmt, ...]

_FEW = 16  # chunks: shorter ones are made until there are as many
_MOST = 256  # chunks
_MOST_OPEN = 64  # chunks of a loop with an open extent
_MOST_SUMS = 32  # chunks of an open sum, whose partial results are added up by one thread
_LARGE = 1 << 16  # the value of open sizes for which a loop must be worth several threads
_UNIT = 64  # iterations of a SIMD loop: no two chunks write to one cache line
_MAIN = 0.8  # of the time of an iteration: one loop in it is nearly all there is


def chunk_count(cost: float) -> int:
    """Into how many chunks work is split that takes so many nanoseconds.

    >>> [chunk_count(cost) for cost in (2e3, 2e4, 1e5, 1e6, 1e8)]
    [1, 8, 16, 125, 256]
    """
    short, usual = int(cost / CPU.short_chunk_ns), int(cost / CPU.chunk_ns)
    return min(_MOST, max(1, min(_FEW, short), usual))


def open_chunk_count(time: AnySize, most: int, each: int = 1) -> AnySize:
    """The same for work of so many picoseconds, if that depends on open sizes. There are `most` at most, each
    of which stands for `each` chunks.

    >>> from staticgraph.compiler.graph.sizes import evaluate, symbol
    >>> count = open_chunk_count(symbol("n") * 3000, 64)
    >>> [evaluate(count, {"n": n}) for n in (0, 2_000, 4_000, 10_000, 40_000, 80_000, 1_000_000)]
    [1, 1, 3, 7, 16, 30, 64]
    """
    most, few = max(1, most // each), max(1, _FEW // each)
    short, usual = (time // round(1000 * ns * each) for ns in (CPU.open_chunk_ns, CPU.chunk_ns))
    if most <= few:
        return at_least(at_most(short, most), 1)
    return at_least(at_most(short, few) + at_most(at_least(usual - few, 0), most - few), 1)


@dataclass(slots=True)
class LoopSharer:
    """Shares out loops of a kernel.

    Attributes:
        buffers: The kernel's buffers, and those for partial results, which are added to them.
        own: The names of the kernel's own scratch memory.
        vector_bytes: The width of vectors.
        many_sums: Only long sums are worth the code for partial results, since there are several.
        in_rounds: The phases are those of a repeated loop. They are many, so none has more chunks than
            iterations, and numbers of chunks of sums must be known.
    """

    buffers: dict[str, Buffer]
    own: Set[str]
    vector_bytes: int
    many_sums: bool = False
    in_rounds: bool = False

    def pieces(self, stmt: Stmt, inside: bool = True) -> Iterator[Stmt]:
        """Statements that do what `stmt` does, with parallel loops if it is worth it; `inside`: loops of
        reductions in it too.
        """
        cost = self.cost((stmt,))
        if isinstance(stmt, Loop) and isinstance(stmt.share, Span) and stmt.kind is LoopKind.PARALLEL:
            yield self.spanned(stmt, stmt.share, min(chunk_count(cost), operator.index(stmt.index.extent)))
            return
        if not isinstance(stmt, Loop):
            yield stmt
            return
        opened = opens((stmt,)) and not (self.in_rounds and reductions(stmt))
        if opened and not self.in_rounds and not (self.many_sums and reductions(stmt)):
            cost = nanoseconds((stmt,), self.buffers, self.vector_bytes, _LARGE)
        if not is_for_several(cost) or not self.independent(stmt):
            yield whole(stmt)
            return
        stmt, sums = whole(stmt), bool(reductions(stmt))
        wanted = chunk_count(cost) if not opened else _MOST_SUMS if sums else _MOST_OPEN
        shared = self.share_out_open(stmt, wanted) if opened else self.share_out(stmt, wanted)
        if sums:
            yield from self.partial(stmt, *shared) if shared else (stmt,)
            return
        if inside and (not shared or 2 * bounds(shared[0].extent)[1] <= wanted):
            if split := self.partial_inside(stmt, wanted):
                yield split[0]
                yield from self.pieces(split[1], inside=False)  # what is left adds up a few partial results
                return
        yield Loop(shared[0], (shared[1],), LoopKind.PARALLEL) if shared else stmt

    def spanned(self, loop: Loop, span: Span, count: int) -> Loop:
        """A loop over `count` chunks, each of which does its part of a span."""
        chunk, many = Index("chunk", count), span.stop - span.start
        part = Span(span.start + many * chunk // count, span.start + many * (chunk + 1) // count)
        return Loop(chunk, (replace(whole(loop), share=part),), LoopKind.PARALLEL)

    def cost(self, body: tuple[Stmt, ...]) -> float:
        return nanoseconds(body, self.buffers, self.vector_bytes, MANY)

    def independent(self, loop: Loop) -> bool:
        """Return True if iterations can run at the same time, each with its own scratch memory.

        A loop that an op marks as parallel is promised to be so, even if no range proves it.
        """
        if loop.kind is LoopKind.PARALLEL:
            return True
        return conflict(loop, self.buffers, begun_with_stores(loop) & self.own) is None

    def share_out(self, loop: Loop, wanted: int) -> tuple[Index, Loop] | None:
        """The number of a chunk, of about as many as `wanted`, and the loop that does its share.

        Where a loop has too few iterations, and nothing is in it but another one, that one is shared as well.
        """
        nest, counts = [loop], [_parts(loop, wanted)]
        while (remaining := -(-wanted // math.prod(counts))) > 1 and len(nest[-1].body) == 1:
            (inside,) = nest[-1].body
            if not isinstance(inside, Loop) or inside.share is not None or not self.independent(inside):
                break
            nest.append(whole(inside))
            counts.append(_parts(inside, remaining))
        chunk = Index("chunk", math.prod(counts))
        if chunk.extent == 1:
            return None
        body, stride = nest[-1].body, 1
        for level, count in zip(reversed(nest), reversed(counts), strict=True):
            part = simplify_index(chunk // stride % count)
            body = (replace(level, body=body, share=_share(level, part, count)),)
            stride *= count
        (shared,) = body
        assert isinstance(shared, Loop)
        return chunk, shared

    def share_out_open(self, loop: Loop, most: int) -> tuple[Index, Loop] | None:
        """The same if sizes are open: for about `most` chunks where they are large.

        If an iteration is worth several chunks, or there are few, the loop in it is shared as well. The one
        of the two whose extent is known has a known number of parts.
        """
        time = picoseconds((loop,), self.buffers, self.vector_bytes)
        inside, outer = loop.body[0] if len(loop.body) == 1 else None, loop.index.extent
        if not isinstance(inside, Loop) or inside.share is not None or not self.independent(inside):
            inside = None
        if isinstance(outer, Size):
            known = 1
            if inside is not None and not opens((inside,)):
                known = _parts(inside, min(_FEW, chunk_count(self.cost((inside,)))))
            parts, within = open_chunk_count(time, most, known), known
            parts = at_least(lesser(parts, outer), 1) if self.in_rounds else parts
        else:
            known = _parts(loop, most)
            if inside is None or not isinstance(inside.index.extent, Size) or known >= _FEW:
                parts, within, inside = open_chunk_count(time, known), 1, None
            else:
                parts, within = known, open_chunk_count(time, most, known)
        chunk = Index("chunk", parts * within)
        if not isinstance(chunk.extent, Size):
            return None
        if inside is None or same(within, 1):
            return chunk, replace(loop, share=_share(loop, chunk, parts))
        # The known number is the lower digit, which is found without a division.
        lower, upper = chunk % known, chunk // known
        first, second = (upper, lower) if isinstance(outer, Size) else (lower, upper)
        shared = replace(whole(inside), share=_share(inside, simplify_index(second), within))
        return chunk, replace(loop, body=(shared,), share=_share(loop, simplify_index(first), parts))

    def partial(self, loop: Loop, chunk: Index, share: Loop) -> Iterator[Stmt]:
        """A loop of reductions: `share` of it in each chunk, then the sum of what they give."""
        count = chunk.extent
        sums = self.sums(loop, bounds(count)[1])
        starts = [Let(local, identity(combine, local.dtype)) for local, (_, combine) in sums.items()]
        stores = [Store(buffer, (chunk,), local) for local, (buffer, _) in sums.items()]
        yield Loop(chunk, (*starts, share, *stores), LoopKind.PARALLEL)
        yield _total(sums, count, lambda part: part)

    def partial_inside(self, loop: Loop, wanted: int) -> tuple[Loop, Loop] | None:
        """Loops that do what `loop` does, in which each iteration is little else than a loop of reductions.

        The first one is parallel and leaves partial results; the second one does the rest.
        """
        at, inside = max(enumerate(loop.body), key=lambda item: self.cost((item[1],)))
        before = [s for s in loop.body[:at] if isinstance(s, Let)]
        if (
            not isinstance(inside, Loop)
            or inside.share is not None
            or isinstance(loop.index.extent, Size)  # scratch memory is closed
            or len(before) < at
            or self.cost((inside,)) < _MAIN * self.cost(loop.body)
            or {a.buffer for a in accesses(loop.body)} & self.own
            or not reductions(inside)
            or not self.independent(inside)
        ):
            return None
        index, across = loop.index, _parts(loop, wanted)
        if isinstance(inside.index.extent, Size) and not self.in_rounds:
            # A part of the rows has all columns: how many parts there are tells if it is work for one thread.
            across, most = 1, _MOST_SUMS
            along = open_chunk_count(picoseconds((loop,), self.buffers, self.vector_bytes), most)
        else:
            along = most = _parts(inside, -(-wanted // across))
        if same(along, 1):
            return None
        chunk = Index("chunk", across * along)
        part = simplify_index(chunk % along) if across > 1 else chunk
        sums = self.sums(inside, most * index.extent)
        starts = [
            s if s.local not in sums else Let(s.local, identity(sums[s.local][1], s.local.dtype))
            for s in before
        ]
        share = replace(inside, share=_share(inside, part, along))
        stores = [
            Store(b, (simplify_index(part * index.extent + index),), local) for local, (b, _) in sums.items()
        ]
        mine = _share(loop, simplify_index(chunk // along), across) if across > 1 else None
        first = Loop(chunk, (replace(loop, body=(*starts, share, *stores), share=mine),), LoopKind.PARALLEL)
        total = _total(sums, along, lambda part: simplify_index(part * index.extent + index))
        return first, replace(loop, body=(*before, total, *loop.body[at + 1 :]))

    def sums(self, loop: Loop, size: int) -> dict[Local, tuple[str, str]]:
        """For every local that `loop` reduces into, a new shared buffer of that size, and how."""
        found: dict[Local, tuple[str, str]] = {}
        for update in reductions(loop):
            if update.local not in found:
                assert update.combine is not None
                name = f"sums{len(self.buffers)}"
                self.buffers[name] = Buffer(update.local.dtype, (size,), written=True, shared=True)
                found[update.local] = name, update.combine
        return found


def _total(sums: dict[Local, tuple[str, str]], count: AnySize, place: Callable[[Expr], Expr]) -> Loop:
    """The loop that combines partial results, always in the same order."""
    part = Index("part", count)
    updates = [
        Update(local, read(combine, local, Load(buffer, (place(part),), local.dtype)), combine)
        for local, (buffer, combine) in sums.items()
    ]
    return Loop(part, tuple(updates))


def _parts(loop: Loop, wanted: int) -> int:
    """Return the number of parts that a loop is shared out in, at most `wanted`."""
    return max(1, min(wanted, estimate(loop.index.extent, MANY) // _unit(loop)))


def _unit(loop: Loop) -> int:
    return _UNIT if loop.kind is LoopKind.SIMD else 1


def _share(loop: Loop, part: Expr, count: AnySize) -> Share | None:
    return Share(part, count, _unit(loop)) if several(count) else None


@dataclass(slots=True)
class _Repeated:
    """Bodies that are done in order, `count` times, and how many chunks each has each time.

    The chunks of a time have numbers of their own. If how many there are is open, there are as many numbers
    as there may be chunks.
    """

    bodies: list[Body]
    count: int = 1
    chunks: tuple[AnySize, ...] = ()


def _is_parallel(stmt: Stmt) -> bool:
    return isinstance(stmt, Loop) and stmt.kind is LoopKind.PARALLEL


def _has_phases(stmt: Stmt) -> bool:
    """Return True if a loop has parallel loops directly in it, and does something before or after them."""
    return (
        isinstance(stmt, Loop)
        and stmt.kind is LoopKind.SERIAL
        and isinstance(stmt.index.extent, int)
        and any(map(_is_parallel, stmt.body))
    )


def _most(chunks: AnySize) -> int:
    return bounds(chunks)[1]


def _placed(table: dict[Expr, Expr], expr: Expr) -> Expr:
    return simplify_index(substitute(expr, table))


class Splitter:
    """Puts the statements of a kernel in phases."""

    def __init__(self, kernel: Kernel, vector_bytes: int) -> None:
        self.kernel, self.buffers = kernel, dict(kernel.buffers)
        loops = [stmt for stmt in kernel.body if isinstance(stmt, Loop)]
        many_sums = sum(bool(reductions(loop)) for loop in loops) > 1
        self.loops = LoopSharer(self.buffers, kernel.locals.keys(), vector_bytes, many_sums)

    def split(self) -> tuple[tuple[Kernel, ...], tuple[PhaseCall, ...]]:
        """The phases, and the order in which they are done."""
        parts: list[_Repeated] = []
        for repeated, group in groupby(self.kernel.body, _has_phases):
            if repeated:
                parts += [self.repeated(stmt) for stmt in group if isinstance(stmt, Loop)]
            else:
                parts.append(_Repeated([tuple(body) for body in self.bodies(group, self.loops)]))
        if not any(map(_has_phases, self.kernel.body)):
            bodies = [body for part in parts for body in part.bodies] or [()]
            parts = [_Repeated(connect(bodies, self.buffers) if len(bodies) > 1 else bodies)]
        kernels: list[Kernel] = []
        calls: list[PhaseCall] = []
        for part in parts:
            made = [Kernel(self.kernel.name, self.buffers, body) for body in part.bodies]
            counts = part.chunks or [each.chunks for each in made]
            for number in range(part.count):
                for phase, chunks in enumerate(counts, len(kernels)):
                    calls.append(PhaseCall(phase, number * _most(chunks) if number else 0, chunks))
            kernels += made
        return tuple(kernels), tuple(calls)

    def bodies(self, stmts: Iterable[Stmt], loops: LoopSharer) -> list[list[Stmt]]:
        """Statements in phases: those with parallel loops have nothing else in them."""
        bodies: list[list[Stmt]] = [[]]
        for stmt in stmts:
            for piece in loops.pieces(stmt):
                if _is_parallel(piece):
                    bodies += [[piece], []]
                else:
                    bodies[-1].append(piece)
        return self.beside(bodies) or [[]]

    def repeated(self, loop: Loop) -> _Repeated:
        """The phases of one iteration of `loop`, whose number is found in that of a chunk."""
        count = operator.index(loop.index.extent)
        bodies: list[Body] = []
        counts: list[AnySize] = []
        for body in self.bodies(loop.body, replace(self.loops, in_rounds=True)):
            chunk, inside = Index("chunk", 1), tuple(body)
            some: AnySize = 1
            match body:
                case [Loop(chunk, (Loop() as only,) as inside, LoopKind.PARALLEL)]:
                    some = at_most(only.index.extent, 1)  # no chunks: the phase is skipped
                case [Loop(chunk, inside, LoopKind.PARALLEL)]:
                    pass
            counts.append(chunk.extent * some)
            parts = _most(chunk.extent)
            number = Index("chunk", count * parts)
            table: dict[Expr, Expr] = {loop.index: number // parts, chunk: number % parts}
            changed = rewrite(inside, partial(_placed, table))
            bodies.append((Loop(number, changed, LoopKind.PARALLEL),))
        return _Repeated(bodies, count, tuple(counts))

    def beside(self, bodies: list[list[Stmt]]) -> list[list[Stmt]]:
        """`bodies` with those that need no phase of their own in the first chunk of the parallel loop next to
        them.
        """
        fewer: list[list[Stmt]] = []
        for body in bodies:
            if not body:
                continue
            for parallel, other in ((fewer[-1], body), (body, fewer[-1])) if fewer else ():
                if (both := self.in_first_chunk(parallel, other)) is not None:
                    fewer[-1] = [both]
                    break
            else:
                fewer.append(body)
        return fewer

    def in_first_chunk(self, parallel: list[Stmt], other: list[Stmt]) -> Loop | None:
        """A parallel loop that does `other` as well, if it may."""
        match parallel, other:
            case [Loop(chunk, body, LoopKind.PARALLEL)], [*rest] if (
                not any(map(_is_parallel, rest))
                and not changed(tuple(rest))
                and not self.meet(parallel, rest)
            ):
                return Loop(chunk, (If(read("eq", chunk, 0), tuple(rest)), *body), LoopKind.PARALLEL)
        return None

    def meet(self, a: Sequence[Stmt], b: Sequence[Stmt]) -> bool:
        """Return True if one of `a` and `b` may write what the other one reads or writes."""
        touched, others = accesses(tuple(a)), accesses(tuple(b))
        written = {x.buffer for x in (*touched, *others) if isinstance(x, Store)}
        for name in written:
            ranges, more = (
                {span(offset(self.buffers[name], x.at)) for x in side if x.buffer == name}
                for side in (touched, others)
            )
            if not all(apart(a, b) for a in ranges for b in more):
                return True
        return False
