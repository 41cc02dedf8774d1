"""Locals that live longer than the phase of a kernel that gives them their value.

Every phase is a function of its own. What one computes and a later one needs goes through shared scratch
memory, unless it is so simple that the later one computes it again.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from staticgraph.compiler.kernel.expr import Expr, Load, Local, walk
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    expressions,
    statements,
)

Body = tuple[Stmt, ...]


def connect(bodies: Sequence[Body], buffers: dict[str, Buffer]) -> list[Body]:
    """The bodies of phases that together were one body. Those without effect are left out.

    A phase is a parallel loop, or has none. `buffers` gets the shared ones that are needed.
    """
    simple: dict[Local, Let] = {}  # the definitions that a phase can repeat
    giver: dict[Local, int] = {}  # the last phase that changed a local
    starts: list[list[Stmt]] = []
    ends: list[dict[Local, None]] = [{} for _ in bodies]
    for number, body in enumerate(bodies):
        needed = _needed(body)
        taken = [local for local in needed if local not in simple]
        starts.append([*_repeated(needed, simple), *(Let(n, Load(_name(n), (), n.dtype)) for n in taken)])
        for local in taken:
            ends[giver[local]][local] = None
            buffers[_name(local)] = Buffer(local.dtype, (), written=True, shared=True)
        for local in changed(body):
            simple.pop(local, None)
            giver[local] = number
        simple |= {s.local: s for s in body if isinstance(s, Let) and _is_simple(s, body, simple, buffers)}
    return [
        _around(start, body, [Store(_name(local), (), local) for local in end])
        for start, body, end in zip(starts, bodies, ends, strict=True)
        if end or not all(isinstance(stmt, Let) for stmt in body)
    ]


def changed(body: Body) -> list[Local]:
    """The locals that `body` gives a value and leaves to those after it."""
    outer = {s.local for s in body if isinstance(s, Let)}
    inner = {s.local for s in statements(body) if isinstance(s, Let)} - outer
    given = dict.fromkeys(s.local for s in statements(body) if isinstance(s, (Let, Update)))
    return [local for local in given if local not in inner]


def _name(local: Local) -> str:
    return f"kept_{local.name}"


def _around(start: Sequence[Stmt], body: Body, end: Sequence[Stmt]) -> Body:
    match body:
        case (Loop(chunk, inside, LoopKind.PARALLEL),):
            return (Loop(chunk, (*start, *inside, *end), LoopKind.PARALLEL),)
    return (*start, *body, *end)


def _needed(body: Body) -> list[Local]:
    """The locals that `body` uses and does not define."""
    own = {s.local for s in statements(body) if isinstance(s, Let)}
    used: dict[Local, None] = {}
    for stmt in statements(body):
        if isinstance(stmt, Update):
            used[stmt.local] = None
        used |= {e: None for e in walk(*expressions(stmt)) if isinstance(e, Local)}
    return [local for local in used if local not in own]


def _is_simple(let: Let, body: Body, simple: Container[Expr], buffers: dict[str, Buffer]) -> bool:
    """Return True if any phase after `body` can recompute `let` from values that do not change."""
    updated = any(isinstance(s, Update) and s.local is let.local for s in statements(body))
    return not updated and all(
        e in simple if isinstance(e, Local) else not (isinstance(e, Load) and buffers[e.buffer].written)
        for e in walk(let.value)
    )


def _repeated(needed: Sequence[Local], simple: dict[Local, Let]) -> list[Let]:
    """The definitions of `needed` that are simple, each after those that it uses."""
    order: dict[Local, None] = {}

    def add(local: Local) -> None:
        if local in simple and local not in order:
            for node in walk(simple[local].value):
                if isinstance(node, Local):
                    add(node)
            order[local] = None

    for local in needed:
        add(local)
    return [simple[local] for local in order]
