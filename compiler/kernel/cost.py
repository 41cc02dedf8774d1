"""Cost of the statements of a kernel: relative costs of operations, and an estimate of the time.

The estimates choose between ways to run a kernel. The result is the same whichever is chosen.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from staticgraph.compiler.graph.sizes import NOMINAL, AnySize, Size, estimate
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Scalar
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.primitives.instructions import ADDITION, CONVERSIONS
from staticgraph.compiler.kernel.scalar import primitive_of
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Loop,
    LoopKind,
    Share,
    Span,
    Stmt,
    Store,
    While,
    statements,
)
from staticgraph.compiler.machine import CPU

UNKNOWN_TRIPS = 8  # of a loop whose trip count is not known


@cache
def operation_cost(op: str) -> float:
    """The cost of a scalar operation, in additions of vectors (`Primitive.cost`)."""
    return ADDITION if op in CONVERSIONS else primitive_of(op).cost


def values(stmt: Stmt) -> list[Load | Scalar]:
    """The loads and operations of a statement, without index arithmetic."""
    root: Expr | None = getattr(stmt, "value", None)
    if root is None:
        return []
    computed: list[Load | Scalar] | None = root.known.get("computed")
    if computed is None:
        found: dict[Expr, None] = {}
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in found:
                found[node] = None
                stack += () if isinstance(node, Load) else node.children
        computed = root.known["computed"] = [e for e in found if isinstance(e, (Load, Scalar))]
    return computed


def nanoseconds(
    body: tuple[Stmt, ...], buffers: dict[str, Buffer], vector_bytes: int, symbol: int = NOMINAL
) -> float:
    """About how long a processor with vectors of so many bytes takes to run `body` once.

    Open sizes are estimated with the value `symbol` for each of their symbols.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.kernel.expr import Index
    >>> i, buffers = Index("i", 16_000), {"x": Buffer(float32, (16_000,)), "y": Buffer(float32, (16_000,))}
    >>> loop = Loop(i, (Store("y", (i,), Load("x", (i,), float32) * 2.0),), LoopKind.SIMD)
    >>> round(nanoseconds((loop,), buffers, 64))
    4740
    """
    return sum(_nanoseconds(stmt, buffers, vector_bytes, 1, symbol) for stmt in body)


def picoseconds(body: tuple[Stmt, ...], buffers: dict[str, Buffer], vector_bytes: int) -> AnySize:
    """The same in picoseconds, as a polynomial in the open sizes.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.graph.sizes import symbol
    >>> from staticgraph.compiler.kernel.expr import Index
    >>> i, buffers = Index("i", symbol("n")), {"x": Buffer(float32, (symbol("n"),))}
    >>> loop = Loop(i, (Store("x", (i,), Load("x", (i,), float32) * 2.0),), LoopKind.SIMD)
    >>> picoseconds((loop,), buffers, 64)
    297*n
    """
    return _picoseconds(body, buffers, vector_bytes, 1)


def _picoseconds(
    body: tuple[Stmt, ...], buffers: dict[str, Buffer], vector_bytes: int, lanes: int
) -> AnySize:
    total: Any = 0
    for stmt in body:
        if not any(isinstance(s, Loop) and isinstance(s.index.extent, Size) for s in statements((stmt,))):
            total += round(1000 * _nanoseconds(stmt, buffers, vector_bytes, lanes, NOMINAL))
            continue
        assert isinstance(stmt, Loop | While | If)
        inside, divided = lanes, 1
        if isinstance(stmt, Loop) and stmt.kind is LoopKind.SIMD:
            inside = divided = _lanes(stmt.body, vector_bytes)
        match stmt:
            case Loop(index, share=share):
                divided *= 2 if isinstance(share, Span) else 1
                # The rounds together do what each does a share of.
                shared = tuple(s for s in stmt.body if _is_share(s, index))
                total += _picoseconds(shared, buffers, vector_bytes, inside)
                once = _picoseconds(
                    tuple(s for s in stmt.body if s not in shared), buffers, vector_bytes, inside
                )
                rounds = index.extent
                total += once * rounds // divided if isinstance(once, Size) else -(-once // divided) * rounds
                continue
        once = _picoseconds(stmt.body, buffers, vector_bytes, inside)
        match stmt:
            case While():
                total += UNKNOWN_TRIPS * once
            case If():
                total += once
    return total


def _is_share(stmt: Stmt, index: Index) -> bool:
    """Return True if a round of the loop over `index` does its share of a loop."""
    return isinstance(stmt, Loop) and isinstance(stmt.share, Share) and stmt.share.part is index


def _lanes(body: tuple[Stmt, ...], vector_bytes: int) -> int:
    """Return the number of elements of the widest type in a vector."""
    sizes = [e.dtype.size for s in statements(body) for e in values(s)]
    return vector_bytes // max(sizes, default=vector_bytes)


def _nanoseconds(stmt: Stmt, buffers: dict[str, Buffer], vector_bytes: int, lanes: int, symbol: int) -> float:
    match stmt:
        case Loop(index, body, kind, share):
            if kind is LoopKind.SIMD:
                lanes = _lanes(body, vector_bytes)
            extent = estimate(index.extent, symbol)
            match share:
                case Share(count=count):
                    extent //= estimate(count, symbol)
                case Span():
                    extent = -(-extent // 2)  # on average, if it begins or ends with an outer loop
            rounds = -(-extent // lanes) if kind is LoopKind.SIMD else extent
            return rounds * sum([_nanoseconds(s, buffers, vector_bytes, lanes, symbol) for s in body])
        case While(_, body):
            return UNKNOWN_TRIPS * sum(_nanoseconds(s, buffers, vector_bytes, lanes, symbol) for s in body)
        case If(_, body):
            return sum(_nanoseconds(s, buffers, vector_bytes, lanes, symbol) for s in body)
    instructions = 0.0
    streams: dict[tuple[object, ...], int] = {}  # neighbours in memory come together
    for node in values(stmt):
        if isinstance(node, Load):
            instructions += 1.0
            streams[node.buffer, *[frozenset(linear(at).terms.items()) for at in node.at]] = node.dtype.size
        else:
            instructions += operation_cost(node.op)
    moved = sum(streams.values())
    if isinstance(stmt, Store):
        instructions += 1.0
        moved += buffers[stmt.buffer].dtype.size
    return instructions * CPU.addition_ns + moved * lanes * CPU.byte_ns


def is_for_several(cost: float) -> bool:
    """Return True if work of so many nanoseconds is worth several threads."""
    return cost >= CPU.shared_ns
