"""Number of loop iterations in a vector, and the combination of partial results, one per lane."""

from __future__ import annotations

from collections.abc import Iterable, Set

from staticgraph.compiler.codegen.llvm.scalar import apply
from staticgraph.compiler.codegen.llvm.text import Site, register_type, vector
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import estimate
from staticgraph.compiler.kernel.expr import Expr, Load, Local, Lookup, Scalar, walk
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    Span,
    Stmt,
    Store,
    Update,
    While,
    expressions,
    statements,
    updates_of_outer,
)

WASTE = 1.25  # how many vectors may be computed for each one that is needed
_REGISTERS = 4  # per value, where it would wait for itself or for a long chain of operations
_ITERATING = 2  # registers where lanes iterate: each step waits for the one before, and code is long
_CHAIN, _MOST = 12, 200  # operations: fewer wait for memory, and more have too many values for registers
_ROUND = 32  # operations of an iteration that hide what its loop costs
_UNROLLED, _FEW = 4, 128  # iterations that are written out at most, and operations of all of them
_OTHERS = 4  # registers for what comes and goes while others are carried through a loop


def choose_lanes(loop: Loop, buffers: dict[str, Buffer], target: CpuTarget) -> tuple[int, int]:
    """The lanes of a register and the registers per value, both powers of two.

    There are several registers where a sum would wait for itself, or a function for one operation after the
    other.

    A vector of four registers is four independent vectors to the processor, so it hides the latency of the
    operations as unrolling would, in the same number of lines. LLVM takes four times as long for it. Where no
    chain is long, the processor begins the next iterations meanwhile, and where there are as many chains, it
    works on all of them. What a loop inside carries from one iteration to the next must stay in registers.
    """
    extent = estimate(loop.index.extent)
    lanes = min(target.lanes(_dtypes(loop.body, buffers)), 1 << (extent - 1).bit_length())
    cost, vectors = _operations(loop.body), -(-extent // lanes)
    sums = any(isinstance(s, Update) for s in statements(loop.body))
    waits = cost >= _CHAIN or sums
    registers = _REGISTERS
    if not sums and cost >= _ROUND and ((depth := _depth(loop.body)) <= _CHAIN or cost >= _REGISTERS * depth):
        registers = 1
    while registers > 1 and -(-vectors // registers) * registers > WASTE * vectors:
        registers //= 2
    while registers > 1 and registers * _carried(loop.body) > target.registers - _OTHERS:
        registers //= 2
    if any(isinstance(s, While) for s in statements(loop.body)):
        return lanes, min(registers, _ITERATING)
    return lanes, registers if waits and cost <= _MOST else 1


def _carried(body: tuple[Stmt, ...]) -> int:
    """The most locals that a loop in the body carries from one iteration to the next."""
    loops = [s for s in statements(body) if isinstance(s, Loop)]
    return max((len({u.local for u in updates_of_outer(inner.body)}) for inner in loops), default=0)


def is_written_out(loop: Loop) -> bool:
    """Return True if the iterations of a serial loop are written one after the other: it is little text."""
    if isinstance(loop.share, Span) or not isinstance(loop.index.extent, int):
        return False
    plain = loop.share is None and not any(isinstance(s, (Loop, While, If)) for s in loop.body)
    if loop.index.extent <= 1 or not plain:
        return loop.index.extent <= 1
    return loop.index.extent <= _UNROLLED and loop.index.extent * _operations(loop.body) <= _FEW


def is_single(loop: Loop) -> bool:
    """Return True if a loop has one iteration at most."""
    return isinstance(loop.index.extent, int) and loop.index.extent <= 1


def waits_for_memory(body: tuple[Stmt, ...]) -> bool:
    """True if a loop computes so little that memory limits its speed."""
    return _operations(body) < _CHAIN


def horizontal(site: Site, combine: str, partial: str, left: int = 1) -> str:
    """The partial results of all lanes combined, one half with the other until so many are `left`."""
    element, lanes, emitter = register_type(site.dtype), site.lanes, site.emitter
    while lanes > left:
        kind, half = vector(element, lanes), lanes // 2
        parts = []
        for start in (0, half):
            if half == 1:
                parts.append(emitter.value(f"extractelement {kind} {partial}, i64 {start}"))
                continue
            parts.append(emitter.shuffle(kind, range(start, start + half), partial))
        partial = apply(Site(emitter, site.dtype, half), combine, *parts)
        lanes = half
    return partial


def _dtypes(body: tuple[Stmt, ...], buffers: dict[str, Buffer]) -> Iterable[DType]:
    """The dtypes of the values that the body handles; those of positions do not count."""
    for stmt in statements(body):
        match stmt:
            case Let(local, _) | Update(local, _):
                yield local.dtype
            case Store(buffer, _, value):
                yield buffers[buffer].dtype
                yield value.dtype
        for node in _values(stmt):
            if isinstance(node, Load):
                yield node.dtype


def _values(stmt: Stmt) -> Set[Expr]:
    """The expressions below those that `stmt` computes, stopping at loads."""
    roots = (stmt.value,) if isinstance(stmt, Store) else expressions(stmt)
    if len(roots) == 1:
        return _with_below(roots[0])
    return set().union(*map(_with_below, roots))


def _with_below(root: Expr) -> Set[Expr]:
    """An expression and those below it: kept, as several questions about a loop follow each other."""
    if "values" not in root.known:
        seen: set[Expr] = set()
        stack = [] if isinstance(root, Load) else [*root.children]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                if not isinstance(node, Load):
                    stack += node.children
        root.known["values"] = seen
    return {root, *root.known["values"]}  # which has no reference to itself


def _depth(body: tuple[Stmt, ...]) -> int:
    """The operations of the longest chain of one iteration, in which each waits for the one before."""
    depths: dict[Expr, int] = {}
    for stmt in statements(body):
        roots = [stmt.value] if isinstance(stmt, Store) else [*expressions(stmt)]
        for node in walk(*roots):
            if node not in depths:
                inner = () if isinstance(node, Load) else node.children
                depth = max([depths[child] for child in inner], default=0)
                depths[node] = depth + isinstance(node, (Scalar, Lookup))
        if isinstance(stmt, Let):
            depths[stmt.local] = depths[stmt.value]
    return max(depths.values(), default=0)


def _operations(body: tuple[Stmt, ...]) -> int:
    """About how many vector instructions one iteration is."""
    values = set().union(*map(_values, statements(body)))
    return len([node for node in values if isinstance(node, (Scalar, Load, Lookup))])


def own_operations(stmt: Stmt) -> int:
    """About how many instructions a statement itself is, without those inside it."""
    return len([node for node in _values(stmt) if isinstance(node, (Scalar, Load, Lookup))])


def reductions(body: tuple[Stmt, ...]) -> dict[Local, str]:
    """Return the locals from outside that a SIMD loop reduces into, and how."""
    found: dict[Local, str] = {}
    for stmt in updates_of_outer(body):
        if stmt.combine is None or found.setdefault(stmt.local, stmt.combine) != stmt.combine:
            raise ValueError(f"lanes cannot share {stmt.local.name}: it is not the result of one reduction")
    return found
