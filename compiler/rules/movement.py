"""Ops that only move elements: two become one, and those that move nothing disappear.

Arithmetic broadcasts by itself, and what is repeated had better be repeated late.
"""

from __future__ import annotations

from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import normalize_axes
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.rewrite.pattern import attributes, compute, variables
from staticgraph.compiler.rewrite.rule import RuleSet, rule

x, y = variables("x y")
p, q = attributes("p q")
Axes = tuple[int, ...] | None


def full(perm: Axes, rank: int) -> tuple[int, ...]:
    """A permutation with None, which reverses the axes, spelled out."""
    return tuple(reversed(range(rank))) if perm is None else tuple(a % rank for a in perm)


def composed(x: Value, p: Axes, q: Axes) -> tuple[int, ...]:
    """The permutation that does what `p` and then `q` do."""
    first, second = full(p, x.rank), full(q, x.rank)
    return tuple(map(first.__getitem__, second))


def stays(x: Value, p: Axes) -> bool:
    """Return True if a permutation leaves every axis in place."""
    return full(p, x.rank) == tuple(range(x.rank))


def without(x: Value, p: Axes) -> tuple[int, ...]:
    """The shape of `x` without the axes `p`."""
    axes = normalize_axes(p, x.rank)
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


def is_whole(x: Value, p: tuple[int, ...]) -> bool:
    """Return True if a reshape or broadcast to `p` changes nothing."""
    return len(p) == x.rank and all(same(n, -1) or same(n, m) for n, m in zip(p, x.shape, strict=True))


def adds_nothing(x: Value, p: tuple[tuple[int, int], ...]) -> bool:
    """Return True if there is no padding, along any axis."""
    return all(same(n, 0) for pair in p for n in pair)


def over_ones(x: Value, p: Axes, **_: object) -> bool:
    """Return True if a reduction only combines axes of size one, so that nothing is combined."""
    return all(same(x.shape[a], 1) for a in normalize_axes(p, x.rank))


movement = RuleSet(
    transpose=lambda: [
        rule("transpose twice", ops.transpose(ops.transpose(x, perm=p), perm=q),
             ops.transpose(x, perm=compute(composed, x, p, q))),
        rule("transpose to itself", ops.transpose(x, perm=p), x, when=stays),
    ],
    reshape=lambda: [
        rule("reshape twice", ops.reshape(ops.reshape(x, shape=p), shape=q), ops.reshape(x, shape=q)),
        rule("reshape to itself", ops.reshape(x, shape=p), x, when=is_whole),
    ],
    pad=lambda: [
        rule("pad with nothing", ops.pad(x, paddings=p), x, when=adds_nothing),
    ],
    broadcast_to=lambda: [
        rule("broadcast twice", ops.broadcast_to(ops.broadcast_to(x, shape=p), shape=q),
             ops.broadcast_to(x, shape=q)),
        rule("broadcast to itself", ops.broadcast_to(x, shape=p), x, when=is_whole),
    ],
    reduce_sum=lambda: [
        rule("sum over ones", ops.reduce_sum(x, axis=p, keepdims=False),
             lambda: ops.reshape(x, shape=compute(without, x, p)), when=over_ones),
        rule("sum over ones, kept", ops.reduce_sum(x, axis=p, keepdims=True), x, when=over_ones),
    ],
    reduce_max=lambda: [
        rule("maximum over ones", ops.reduce_max(x, axis=p, keepdims=False),
             lambda: ops.reshape(x, shape=compute(without, x, p)), when=over_ones),
        rule("maximum over ones, kept", ops.reduce_max(x, axis=p, keepdims=True), x, when=over_ones),
    ],
)

# Rules of ops that most graphs have, about a value that few have: see `passes/simplify.py`.
broadcasts = RuleSet(
    add=lambda: [
        rule("add broadcast", x + ops.broadcast_to(y, shape=p), x + y),
    ],
    subtract=lambda: [
        rule("subtract broadcast", ops.subtract(x, ops.broadcast_to(y, shape=p)), ops.subtract(x, y)),
        rule("subtract from broadcast", ops.subtract(ops.broadcast_to(y, shape=p), x), ops.subtract(y, x)),
    ],
    multiply=lambda: [
        rule("multiply by broadcast", x * ops.broadcast_to(y, shape=p), x * y),
    ],
    realdiv=lambda: [
        rule("divide broadcast", ops.realdiv(ops.broadcast_to(x, shape=p), y), ops.realdiv(x, y)),
        rule("divide by broadcast", ops.realdiv(x, ops.broadcast_to(y, shape=p)), ops.realdiv(x, y)),
    ],
)
