"""Choice of the loop of a nest that runs in vector lanes: the one that saves most, by counting operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from staticgraph.compiler.graph.sizes import Size, estimate
from staticgraph.compiler.kernel.cost import UNKNOWN_TRIPS, operation_cost, values
from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.loops.dependence import accesses, lane_locals, obstacle, reductions
from staticgraph.compiler.kernel.loops.nests import GATHER, PAIRS, SCATTER, is_one_of, step_of
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Loop,
    LoopKind,
    Stmt,
    Store,
    While,
    statements,
)
from staticgraph.compiler.support.dataclass import dataclass, replace

# Relative costs, in units of one arithmetic vector instruction.
_MASK = 2.0  # to run the last iterations under a mask
_COMBINE = 3.0  # per halving of the lanes when their partial results are combined
_LOOP = 1.0  # to count and to jump


def vectorize(kernel: Kernel, vector_bytes: int) -> Kernel:
    """`kernel` with the best choice of SIMD loops, for vectors of `vector_bytes`."""
    return replace(kernel, body=_Vectorizer(kernel.buffers, vector_bytes).block(kernel.body).body)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Statements and what they cost."""

    body: tuple[Stmt, ...]
    cost: float


def _shares(loop: Loop) -> bool:
    """Return True if a share of iterations is done by a loop or by one inside it."""
    return any(isinstance(s, Loop) and s.share is not None for s in statements((loop,)))


def _has_lanes(loop: Loop) -> bool:
    """Return True if an op has chosen a loop inside this one for the lanes."""
    return any(isinstance(s, Loop) and s.kind is LoopKind.SIMD for s in statements(loop.body))


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
            case Loop(index, body, LoopKind.SIMD):
                return _Plan((stmt,), self.vector_cost(stmt, self.lanes(stmt)))
            case Loop(index, body):
                serial = self.block(body)
                cost = estimate(index.extent) * (serial.cost + _LOOP)
                lanes = self.lanes(stmt)
                plain = stmt.kind is LoopKind.SERIAL and not _shares(stmt) and not _has_lanes(stmt)
                if plain and lanes > 1 and obstacle(stmt, self.buffers) is None:
                    vector = self.vector_cost(stmt, lanes)
                    if vector < cost:
                        return _Plan((replace(stmt, kind=LoopKind.SIMD),), vector)
                return _Plan((replace(stmt, body=serial.body),), cost)
            case While() | If():
                plan = self.block(stmt.body)
                trips = UNKNOWN_TRIPS if isinstance(stmt, While) else 1
                return _Plan((replace(stmt, body=plan.body),), trips * plan.cost)
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
        stored = Counter(s.buffer for s in body if isinstance(s, Store))
        pairs = {name for name, times in stored.items() if times % 2 == 0}
        for stmt in body:
            if isinstance(stmt, Loop):
                total += estimate(stmt.index.extent) * (self.cost(stmt.body, index, lanes, varying) + _LOOP)
                continue
            if isinstance(stmt, While):
                total += UNKNOWN_TRIPS * (self.cost(stmt.body, index, lanes, varying) + _LOOP)
                continue
            for node in values(stmt):
                if isinstance(node, Load):
                    step = step_of(node, index, varying) if index else 1
                    near, paired = is_one_of(step, 0, 1), is_one_of(step, 2, -1, -2)
                    total += 1.0 if near else PAIRS if paired else GATHER * lanes
                else:
                    total += operation_cost(node.op)
            if isinstance(stmt, Store):
                step = step_of(stmt, index, varying) if index else 1
                paired = is_one_of(step, 2) and stmt.buffer in pairs
                total += 1.0 if is_one_of(step, 1) else PAIRS if paired else SCATTER * lanes
        return total
