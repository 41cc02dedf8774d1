"""Vector loops: choose the loop of a nest that runs in vector lanes, and align what it stores.

The choice is the loop that saves most, by counting operations.

`align` lets vector loops begin where a vector of their results does. For example,

    for i in 0..510:
      for j in 0..510 simd:
        y[i * 512 + j + 513] = x[i * 512 + j + 513] * 2.0

would store every vector across two cache lines, which takes twice the time. It becomes

    for i in 0..510:
      for j in 0..15 simd:
        y[i * 512 + j + 513] = x[i * 512 + j + 513] * 2.0
      for j in 0..495 simd:
        y[i * 512 + j + 528] = x[i * 512 + j + 528] * 2.0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator

from staticgraph.compiler.graph.sizes import Size, content, estimate, same
from staticgraph.compiler.kernel.cost import UNKNOWN_TRIPS, operation_cost, values
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Scalar, substitute, walk
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, lane_locals, obstacle, reductions
from staticgraph.compiler.kernel.loops.nests import GATHER, PAIRS, SCATTER, is_one_of, step_of
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
    expressions,
    rewrite,
    statements,
)
from staticgraph.compiler.support.dataclass import dataclass, replace

# Relative costs, in units of one arithmetic vector instruction.
_MASK = 2.0  # to run the last iterations under a mask
_COMBINE = 3.0  # per halving of the lanes when their partial results are combined
_LOOP = 1.0  # to count and to jump


def vectorize(kernel: Kernel, vector_bytes: int) -> Kernel:
    """`kernel` with the best choice of SIMD loops, for vectors of `vector_bytes`."""
    if not _divides(kernel.body):
        return replace(kernel, body=_Vectorizer(kernel.buffers, vector_bytes).block(kernel.body).body)
    from staticgraph.compiler.kernel.loops.wraps import in_lanes, without_divisions  # few kernels divide

    body = _Vectorizer(kernel.buffers, vector_bytes, in_lanes).block(kernel.body).body
    return replace(kernel, body=without_divisions(body))


def _divides(body: tuple[Stmt, ...]) -> bool:
    """Return True if a remainder is in a statement."""
    for stmt in statements(body):
        for root in expressions(stmt):
            for node in walk(root):
                if node.__class__ is Scalar and node.op == "floormod":
                    return True
    return False


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


def _by_columns(loop: Loop, lanes: int) -> Iterator[Loop]:
    """A sum of rows that are shorter than a vector as the sum of what their columns add up to."""
    match loop.body:
        case (Loop(column, inside, LoopKind.SERIAL, None) as row,) if loop.share is None:
            if estimate(column.extent) < lanes and all(isinstance(s, (Let, Update)) for s in inside):
                yield replace(row, kind=LoopKind.SIMD, body=(replace(loop, body=inside),))


class _Vectorizer:
    def __init__(
        self,
        buffers: dict[str, Buffer],
        vector_bytes: int,
        in_lanes: Callable[[Loop], tuple[Loop, ...]] | None = None,
    ) -> None:
        self.buffers = buffers
        self.vector_bytes = vector_bytes
        self.cut = in_lanes  # takes serial ends off a loop

    def block(self, body: tuple[Stmt, ...]) -> _Plan:
        """`body` with the best choice of SIMD loops."""
        plans = [self.statement(stmt) for stmt in body]
        return _Plan(tuple([s for p in plans for s in p.body]), sum([p.cost for p in plans]))

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
                    whole = (replace(stmt, kind=LoopKind.SIMD),) if self.cut is None else self.cut(stmt)
                    choices = [whole, *[(row,) for row in _by_columns(stmt, lanes)]]
                    plans = [self.in_lanes(each, lanes) for each in choices]
                    vector, best = min((plan.cost, n) for n, plan in enumerate(plans))
                    if vector < cost:
                        return plans[best]
                return _Plan((replace(stmt, body=serial.body),), cost)
            case While() | If():
                plan = self.block(stmt.body)
                trips = UNKNOWN_TRIPS if isinstance(stmt, While) else 1
                return _Plan((replace(stmt, body=plan.body),), trips * plan.cost)
        return _Plan((stmt,), self.cost((stmt,), None, 1, ()))

    def in_lanes(self, loops: tuple[Loop, ...], lanes: int) -> _Plan:
        """A loop in vector lanes and its serial ends, with their cost."""
        costs = [
            self.vector_cost(part, lanes) if part.kind is LoopKind.SIMD else self.statement(part).cost
            for part in loops
        ]
        return _Plan(loops, sum(costs))

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
        costs: dict[Expr, float] = {}  # most are a part of several statements
        for stmt in body:
            if isinstance(stmt, Loop):
                total += estimate(stmt.index.extent) * (self.cost(stmt.body, index, lanes, varying) + _LOOP)
                continue
            if isinstance(stmt, While):
                total += UNKNOWN_TRIPS * (self.cost(stmt.body, index, lanes, varying) + _LOOP)
                continue
            for node in values(stmt):
                if node not in costs:
                    costs[node] = _cost_of(node, index, lanes, varying)
                total += costs[node]
            if isinstance(stmt, Store):
                step = step_of(stmt, index, varying) if index else 1
                paired = is_one_of(step, 2) and stmt.buffer in pairs
                total += 1.0 if is_one_of(step, 1) else PAIRS if paired else SCATTER * lanes
        return total


def _cost_of(node: Load | Scalar, index: Index | None, lanes: int, varying: Container[Expr]) -> float:
    """The cost of one operation in `lanes` lanes along `index`."""
    if not isinstance(node, Load):
        return operation_cost(node.op)
    step = step_of(node, index, varying) if index else 1
    if not isinstance(step, int):
        return GATHER * lanes
    return 1.0 if step in (0, 1) else PAIRS if step in (2, -1, -2) else GATHER * lanes


_WORTH = 4  # vectors in a loop: the first one is done under a mask


def align(body: tuple[Stmt, ...], buffers: dict[str, Buffer], vector_bytes: int) -> tuple[Stmt, ...]:
    """`body`, flat and scheduled, with the SIMD loops cut in two that would store across cache lines."""
    aligned: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Loop(kind=LoopKind.SIMD):
                aligned += _aligned(stmt, buffers, vector_bytes)
            case Loop() | While() | If():
                aligned.append(replace(stmt, body=align(stmt.body, buffers, vector_bytes)))
            case _:
                aligned.append(stmt)
    return tuple(aligned)


def _aligned(loop: Loop, buffers: dict[str, Buffer], vector_bytes: int) -> tuple[Loop, ...]:
    extent = loop.index.extent
    if isinstance(extent, Size):
        return (loop,)
    lanes = vector_bytes // max((buffers[a.buffer].dtype.size for a in accesses(loop.body)), default=8)
    begin = _begin(loop, lanes)
    if not begin or loop.share is not None or extent < _WORTH * lanes:
        return (loop,)
    taken = lanes - begin
    first, rest = Index(loop.index.name, taken), Index(loop.index.name, extent - taken)

    def part(index: Index, start: int) -> Loop:
        places: dict[Expr, Expr] = {loop.index: index + start if start else index}
        return replace(
            loop, index=index, body=rewrite(loop.body, lambda e: simplify_index(substitute(e, places)))
        )

    return part(first, 0), part(rest, taken)


def _begin(loop: Loop, lanes: int) -> int:
    """The lane in which every store of `loop` begins; 0 if that is not known."""
    begins: set[int] = set()
    for stmt in loop.body:
        if isinstance(stmt, Store) and stmt.at:
            place = linear(stmt.at[0])
            step = place.stride(loop.index)
            if step is None or not same(step, 1):
                return 0
            if any(content(factor) % lanes for t, factor in place.terms.items() if t is not loop.index):
                return 0
            begins.add(place.constant % lanes)
        elif not isinstance(stmt, Let):
            return 0
    return begins.pop() if len(begins) == 1 else 0
