"""Dependencies of operations in a user's graph: a walk against its edges, linear in what it visits."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from staticgraph.compiler.graph.tensor import Operation, Tensor


def ancestors(roots: Iterable[Operation], cut: Collection[Tensor] = ()) -> set[Operation]:
    """`roots` and all operations that run before them, control dependencies included.

    What only a tensor of `cut` needs is left out.
    """
    seen: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op not in seen:
            seen.add(op)
            stack += [t.op for t in op.all_inputs if t not in cut]
            stack += op.controls
    return seen


def needed(roots: Iterable[Operation], cut: Collection[Tensor] = ()) -> list[Operation]:
    """`ancestors` in order of construction, which is an order in which they can run."""
    return sorted(ancestors(roots, cut), key=lambda op: op.id)
