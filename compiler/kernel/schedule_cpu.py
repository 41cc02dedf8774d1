"""The CPU schedule: contiguous loops become one, and one loop of every nest runs in vector lanes.

    kernel tanh(x: float32[4, 6], out: float32[4, 6] written):
      for i0 in 0..4:
        for i1 in 0..6:
          out[i0, i1] = tanh(x[i0, i1])

    kernel sums(x: float32[300, 100], out: float32[100] written):
      for i0 in 0..100:
        acc0: float32 = 0.0
        for k0 in 0..300:
          acc0 += x[k0, i0]
        out[i0] = acc0

become

    kernel tanh(x: float32[24], out: float32[24] written):
      for i0 in 0..24 simd:
        out[i0] = tanh(x[i0])

    kernel sums(x: float32[30000], out: float32[100] written):
      for i0 in 0..100 simd:
        acc0: float32 = 0.0
        for k0 in 0..300:
          acc0 += x[k0 * 100 + i0]
        out[i0] = acc0

Sums along the rows of the same array keep `i0` serial and run `k0` in lanes, each with a partial result.
The steps are

    flatten      a position becomes one offset: buffers have at most one axis
    interchange  of loops with nothing between them, the one that runs along memory goes innermost
    merge        two loops with nothing between them become one where one variable can write all offsets
    fuse         loops side by side become one where no iteration needs another one
    vectorize    the loop of every nest whose lanes save the most becomes SIMD, by counting operations
    jam          rows that load the same elements are done together
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from staticgraph.compiler import stages
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, Size, estimate, same
from staticgraph.compiler.kernel.cost import operation_cost, values
from staticgraph.compiler.kernel.dependence import accesses, lane_locals, obstacle, reductions
from staticgraph.compiler.kernel.expr import Expr, Index, Load, number, rebuild, substitute, walk
from staticgraph.compiler.kernel.index import linear, offset, simplify_index
from staticgraph.compiler.kernel.loop_fusion import fuse_loops
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Loop,
    LoopKind,
    Stmt,
    Store,
    While,
    expressions,
    rewrite,
    statements,
)
from staticgraph.compiler.kernel.unroll_and_jam import jam
from staticgraph.compiler.support.dataclass import dataclass

# Relative costs, in units of one arithmetic vector instruction.
_GATHER = 1.25  # to load one lane from a place of its own
_SCATTER = 2.5  # to store one
_MASK = 2.0  # to run the last iterations under a mask
_COMBINE = 3.0  # per halving of the lanes when their partial results are combined
_LOOP = 1.0  # to count and to jump


def schedule(kernel: Kernel, vector_bytes: int) -> Kernel:
    """`kernel`, as `place` or a builder made it, for a CPU with vectors of `vector_bytes`.

    Only loops whose iterations are independent, or steps of reductions, change; all others stay as they are.
    """
    made = _reported("flatten", kernel, flatten(kernel))
    made = _reported("interchange", made, replace(made, body=interchange(made.body, made.buffers)))
    made = _reported("merge", made, replace(made, body=merge(made.body)))
    made = _reported("fuse_loops", made, fuse_loops(made))
    lanes = _Vectorizer(made.buffers, vector_bytes)
    made = _reported("vectorize", made, replace(made, body=lanes.block(made.body).body))
    return _reported("unroll_and_jam", made, replace(made, body=jam(made.body, made.buffers, vector_bytes)))


def _reported(stage: str, before: Kernel, after: Kernel) -> Kernel:
    stages.report(stage, before, after)
    return after


def flatten(kernel: Kernel) -> Kernel:
    """`kernel` over buffers of at most one axis."""

    def flat(expr: Expr) -> Expr:
        done: dict[Expr, Expr] = {}
        for node in walk(expr):
            children = tuple(done[c] for c in node.children)
            if isinstance(node, Load):
                children = _position(kernel.buffers[node.buffer], children)
            done[node] = node if children == node.children else rebuild(node, children)
        return simplify_index(done[expr])

    buffers = {n: replace(b, shape=(b.size,) if b.shape else ()) for n, b in kernel.buffers.items()}
    return Kernel(kernel.name, buffers, _flat_stores(rewrite(kernel.body, flat), kernel.buffers))


def interchange(body: tuple[Stmt, ...], buffers: dict[str, Buffer]) -> tuple[Stmt, ...]:
    """`body` with its nests of loops turned so that the innermost one runs along memory."""

    def turned(stmt: Stmt) -> Stmt:
        match stmt:
            case While() | If():
                return replace(stmt, body=interchange(stmt.body, buffers))
            case Loop():
                nest, inside = _nest(stmt)
                inside = interchange(inside, buffers)
                inner = min(reversed(nest), key=lambda loop: _jumps(loop.index, inside))
                if inner is not nest[-1] and all(obstacle(loop, buffers) is None for loop in nest):
                    nest = [loop for loop in nest if loop is not inner] + [inner]
                return _nested(nest, inside)
        return stmt

    return tuple(turned(stmt) for stmt in body)


def merge(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with every two loops made one that have nothing between them and walk through memory as one."""

    def merged(stmt: Stmt) -> Stmt:
        match stmt:
            case While() | If():
                return replace(stmt, body=merge(stmt.body))
            case Loop():
                stmt = replace(stmt, body=merge(stmt.body))
                match stmt.body:
                    case (Loop() as inner,) if inner.kind is stmt.kind:
                        return _as_one(stmt, inner) or stmt
        return stmt

    return tuple(merged(stmt) for stmt in body)


def _position(buffer: Buffer, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return (offset(buffer, at).expr,) if at else ()


def _flat_stores(body: tuple[Stmt, ...], buffers: dict[str, Buffer]) -> tuple[Stmt, ...]:
    def flat(stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer, at, value):
                return Store(buffer, _position(buffers[buffer], at), value)
            case Loop() | While() | If():
                return replace(stmt, body=_flat_stores(stmt.body, buffers))
        return stmt

    return tuple(flat(stmt) for stmt in body)


def _nest(loop: Loop) -> tuple[list[Loop], tuple[Stmt, ...]]:
    """Loops with nothing between them, outermost first, and what is inside the last."""
    nest = [loop]
    while len(nest[-1].body) == 1:
        (inside,) = nest[-1].body
        if not isinstance(inside, Loop) or inside.share is not None:
            break
        nest.append(inside)
    return nest, nest[-1].body


def _nested(nest: list[Loop], inside: tuple[Stmt, ...]) -> Loop:
    for loop in reversed(nest):
        inside = (replace(loop, body=inside),)
    (outermost,) = inside
    assert isinstance(outermost, Loop)
    return outermost


def _jumps(index: Index, body: tuple[Stmt, ...]) -> float:
    """Return the cost of the accesses of `body` that jump when `index` grows by one, zero if none does.

    A load does not jump if it stays or moves to the neighbour. A store does not jump if it moves to the
    neighbour.
    """
    locals_ = lane_locals(index, body)
    total = 0.0
    for access in accesses(body):
        step = _step(access, index, locals_)
        if isinstance(access, Store):
            total += 0 if _is_one_of(step, 1) else _SCATTER
        else:
            total += 0 if _is_one_of(step, 0, 1) else _GATHER
    return total


def _step(access: Load | Store, index: Index, varying: Container[Expr]) -> AnySize | None:
    return linear(access.at[0]).stride(index, varying) if access.at else 0


def _is_one_of(step: AnySize | None, *numbers: int) -> bool:
    """True if a step is one of some numbers for all sizes."""
    return isinstance(step, int) and step in numbers


def _as_one(outer: Loop, inner: Loop) -> Loop | None:
    """The two loops as one, or None if some expression still needs the two variables."""
    if outer.share is not None or inner.share is not None:
        return None
    for access in accesses(inner.body):
        far, near = _step(access, outer.index, ()), _step(access, inner.index, ())
        # Where only the outer index is divided, the inner loop loads one element; one loop would gather it.
        if near is not None and (far is None or not same(far, near * inner.index.extent)):
            return None
    index = Index(outer.index.name, outer.index.extent * inner.index.extent)
    extent = number(inner.index.extent, int64)
    quotient, remainder = index // extent, index % extent
    table: dict[Expr, Expr] = {outer.index: quotient, inner.index: remainder}
    body = rewrite(inner.body, lambda e: simplify_index(substitute(e, table)))
    left = {e for stmt in statements(body) for e in walk(*expressions(stmt))}
    # An empty loop leaves no way to tell one variable from the other.
    if same(index.extent, 0) or quotient in left or remainder in left:
        return None
    return replace(outer, index=index, body=body)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Statements and what they cost."""

    body: tuple[Stmt, ...]
    cost: float


def _shares(loop: Loop) -> bool:
    """Return True if a share of iterations is done by a loop or by one inside it."""
    return any(isinstance(s, Loop) and s.share is not None for s in statements((loop,)))


class _Vectorizer:
    def __init__(self, buffers: dict[str, Buffer], vector_bytes: int) -> None:
        self.buffers = buffers
        self.vector_bytes = vector_bytes

    def block(self, body: tuple[Stmt, ...]) -> _Plan:
        """`body` with the best choice of SIMD loops."""
        plans = [self.statement(stmt) for stmt in body]
        return _Plan(tuple(s for p in plans for s in p.body), sum(p.cost for p in plans))

    def statement(self, stmt: Stmt) -> _Plan:
        match stmt:
            case Loop(index, body):
                serial = self.block(body)
                cost = estimate(index.extent) * (serial.cost + _LOOP)
                lanes = self.lanes(stmt)
                plain = stmt.kind is LoopKind.SERIAL and not _shares(stmt)
                if plain and lanes > 1 and obstacle(stmt, self.buffers) is None:
                    vector = self.vector_cost(stmt, lanes)
                    if vector < cost:
                        return _Plan((replace(stmt, kind=LoopKind.SIMD),), vector)
                return _Plan((replace(stmt, body=serial.body),), cost)
            case While() | If():
                plan = self.block(stmt.body)
                return _Plan((replace(stmt, body=plan.body),), plan.cost)
        return _Plan((stmt,), self.cost((stmt,), None, 1, ()))

    def lanes(self, loop: Loop) -> int:
        """Elements of the widest type in `loop` that a vector holds."""
        sizes = [self.buffers[a.buffer].dtype.size for a in accesses(loop.body)]
        sizes += [e.dtype.size for stmt in statements(loop.body) for e in values(stmt)]
        return self.vector_bytes // max(sizes, default=8)

    def vector_cost(self, loop: Loop, lanes: int) -> float:
        extent = estimate(loop.index.extent)
        once = self.cost(loop.body, loop.index, lanes, lane_locals(loop.index, loop.body)) + _LOOP
        combining = len(reductions(loop)) * _COMBINE * lanes.bit_length()
        masked = isinstance(loop.index.extent, Size) or extent % lanes
        return -(-extent // lanes) * once + (_MASK if masked else 0) + combining

    def cost(
        self, body: tuple[Stmt, ...], index: Index | None, lanes: int, varying: Container[Expr]
    ) -> float:
        """The cost of running `body` once, in `lanes` lanes along `index` if that is not None."""
        total = 0.0
        for stmt in body:
            if isinstance(stmt, Loop):
                total += estimate(stmt.index.extent) * (self.cost(stmt.body, index, lanes, varying) + _LOOP)
                continue
            for node in values(stmt):
                if isinstance(node, Load):
                    step = _step(node, index, varying) if index else 1
                    total += 1.0 if _is_one_of(step, 0, 1) else _GATHER * lanes
                else:
                    total += operation_cost(node.op)
            if isinstance(stmt, Store):
                step = _step(stmt, index, varying) if index else 1
                total += 1.0 if _is_one_of(step, 1) else _SCATTER * lanes
        return total
