"""Phases of a kernel that is worth several threads: all chunks of one are done before the next begins.

What is not shared out and has nothing to do with a shared loop next to it, as the border of a picture, is
done by the first chunk of that loop.

A loop of a routine whose iterations follow each other may have parallel loops directly in it, such as the
steps of a blocked factorisation. Its iterations become phases too. They are written once: the function of a
phase finds the number of the iteration in the number of its chunk.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from staticgraph.compiler.graph.sizes import AnySize, at_most, bounds
from staticgraph.compiler.kernel.expr import Expr, Index, substitute
from staticgraph.compiler.kernel.indices.extremes import apart, span
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, reductions
from staticgraph.compiler.kernel.loops.spill_across_phases import changed, connect
from staticgraph.compiler.kernel.scalar import read
from staticgraph.compiler.kernel.schedule_cpu.share_out import Body, LoopSharer
from staticgraph.compiler.kernel.stmt import If, Kernel, Loop, LoopKind, PhaseCall, Stmt, Store, rewrite
from staticgraph.compiler.support.dataclass import dataclass, replace


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
