"""Work of one run of a kernel: the number of floating-point operations, and the number of bytes.

An operation is counted as often as the indices that it reads have values, which is how often `place` makes
the kernel compute it. For example, an exponential of a row's sum counts once per row. Each operation counts
as one, be it an addition or an exponential. Casts, comparisons and selections do not count.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.sizes import estimate
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce, Scalar, walk
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Stmt, expressions, inner
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.support.dataclass import dataclass


def _flops(op: str) -> int:
    return 0 if op in CONVERSIONS else PRIMITIVES[op].flops


@dataclass(frozen=True, slots=True)
class WorkCount:
    """Operations, and the bytes that are read or written, each once."""

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Operations per byte: what decides whether arithmetic or memory is the limit."""
        return self.flops / max(self.bytes, 1)


def effort(work: Loops | Kernel) -> WorkCount:
    """Count the work of one launch; of loops without a known end, that of one iteration.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.kernel.stmt import Store
    >>> i, x = Index("i", 10), Buffer(float32, (10,))
    >>> nest = Nest((i,), (Store("y", (i,), Load("x", (i,), float32) * 2.0 + 1.0),))
    >>> effort(Loops((nest,), (("x", x), ("y", x))))
    WorkCount(flops=20, bytes=80)
    """
    if isinstance(work, Kernel):
        return WorkCount(_in_body(work.body, 1), _bytes(work.buffers.values()))
    local = frozenset(name for name, buffer in work.buffers if buffer.local)
    rows = len(work.rows)
    flops = sum(_in_nest(nest, nest.domain[:rows], local) for nest in work.nests)
    flops += sum(_in_nest(nest, _summed(nest)[:rows], local) for nest in work.sums)
    used, total = _used((*work.nests, *work.sums)), 0
    for name, buffer in work.buffers:
        whole = _bytes([buffer])
        part = used[name] * buffer.dtype.size if name in used else whole
        total += min(whole, part) if isinstance(whole, int) else whole
    return WorkCount(flops, total)


def _summed(nest: Nest) -> tuple[Index, ...]:
    """The axes that the reductions of a nest go over."""
    return next(e.axes for e in walk(*(store.value for store in nest.stores)) if isinstance(e, Reduce))


def _in_nest(nest: Nest, rows: tuple[Index, ...], local: Container[str]) -> int:
    """`rows`: the indices of the row that is being worked on, which `local` buffers belong to."""
    values = [store.value for store in nest.stores]
    free: dict[Expr, frozenset[Index]] = {}
    for expr in walk(*values):
        below = frozenset().union(*(free[c] for c in expr.children))
        match expr:
            case Index():
                free[expr] = frozenset((expr,))
            case Reduce(axes):
                free[expr] = below.difference(axes)
            case Load(buffer) if buffer in local:
                free[expr] = below.union(rows)
            case _:
                free[expr] = below
    total = 0
    for expr in _arithmetic(values):
        match expr:
            case Reduce(axes, _, value):
                total += _times(free[value].union(axes))
            case Scalar(op):
                total += _flops(op) * _times(free[expr])
    return total


def _in_body(body: Iterable[Stmt], times: int) -> int:
    total = 0
    for stmt in body:
        inside = times * estimate(stmt.index.extent) if isinstance(stmt, Loop) else times
        counted = sum(_flops(e.op) for e in _arithmetic(expressions(stmt)) if isinstance(e, Scalar))
        total += times * counted + _in_body(inner(stmt), inside)
    return total


def _arithmetic(roots: Iterable[Expr]) -> list[Expr]:
    """The expressions of floating numbers below `roots`, each once, without positions in memory."""
    found: dict[Expr, None] = {}
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr not in found:
            found[expr] = None
            stack += () if isinstance(expr, Load) else expr.children
    return [e for e in found if e.dtype in FLOATING]


def _used(nests: Iterable[Nest]) -> dict[str, int]:
    """At most so many elements of each buffer are read and written: those of a part, if it is only that."""
    found: dict[str, int] = {}
    loads: set[Load] = set()
    for nest in nests:
        for store in nest.stores:
            found[store.buffer] = found.get(store.buffer, 0) + _times(nest.domain)
            loads.update(expr for expr in walk(store.value) if isinstance(expr, Load))
    for load in loads:
        indices = {expr for expr in walk(*load.at) if isinstance(expr, Index)}
        found[load.buffer] = found.get(load.buffer, 0) + _times(indices)
    return found


def _bytes(buffers: Iterable[Buffer]) -> int:
    return sum(b.size * b.dtype.size for b in buffers if not (b.local or b.shared))


def _times(indices: Iterable[Index]) -> int:
    return estimate(math.prod(index.extent for index in indices))
