"""Scratch memory of open sizes, which lies in the arena: a kernel is called with it.

    kernel eig(x: float32[n0, n0]):            kernel eig(x: float32[n0, n0], a: float32[4, n0] written):
      local a: float32[n0]
      for part in 0..4 parallel:         ->      for part in 0..4 parallel:
        a[0] = x[part, 0]                          a[part, 0] = x[part, 0]

Scratch memory of known sizes belongs to a thread, whatever that does. This one belongs to an iteration of the
outermost parallel loop that uses it: no two of them write to one place, in any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import Expr, Index, Load, transform
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Loop,
    LoopKind,
    Stmt,
    Store,
    While,
    rewrite,
)
from staticgraph.compiler.lower.program import Loops, Workspace
from staticgraph.compiler.support.dataclass import replace


def with_workspaces(work: Loops | Kernel) -> tuple[Loops | Kernel, tuple[Workspace, ...]]:
    """Return a kernel that is called with its scratch memory of open sizes, and that memory in order."""
    if not isinstance(work, Kernel):
        return work, ()
    scratch = {n: b for n, b in work.buffers.items() if (b.local or b.shared) and isinstance(b.size, Size)}
    if not scratch:
        return work, ()
    made = _Owners(scratch)
    body = tuple(map(made.statement, work.body))
    buffers = {name: b for name, b in work.buffers.items() if name not in scratch} | made.found
    return Kernel(work.name, buffers, body), tuple(Workspace(n, b) for n, b in made.found.items())


class _Owners:
    """Gives each outermost parallel loop of a kernel buffers of its own, with an axis for its iterations."""

    def __init__(self, scratch: Mapping[str, Buffer]) -> None:
        self.scratch = scratch
        self.found: dict[str, Buffer] = {}
        self._loops = 0

    def statement(self, stmt: Stmt) -> Stmt:
        """`stmt` with these buffers in place of the local ones."""
        if isinstance(stmt, Loop) and stmt.kind is LoopKind.PARALLEL:
            return replace(stmt, body=self._owned(stmt.index, stmt.body))
        made, own = stmt, stmt
        if isinstance(stmt, (Loop, While, If)):
            made = replace(stmt, body=tuple(map(self.statement, stmt.body)))
            own = replace(stmt, body=())
        for name in dict.fromkeys(access.buffer for access in accesses((own,))):
            if name in self.scratch:
                self._in_common(name)
        return made

    def _in_common(self, name: str) -> None:
        buffer = self.scratch[name]
        self.found[name] = Buffer(buffer.dtype, buffer.shape, written=True)

    def _owned(self, index: Index, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        self._loops += 1
        names: dict[str, str] = {}
        for name in dict.fromkeys(access.buffer for access in accesses(body)):
            buffer = self.scratch.get(name)
            if buffer is not None and buffer.local:
                names[name] = f"{name}_of_{self._loops}"
                self.found[names[name]] = Buffer(buffer.dtype, (index.extent, *buffer.shape), written=True)
            elif buffer is not None:
                self._in_common(name)
        return _renamed(body, names, index) if names else body


def _renamed(body: tuple[Stmt, ...], names: Mapping[str, str], index: Index) -> tuple[Stmt, ...]:
    """`body` with other buffers, whose first axis `index` counts."""
    done: dict[Expr, Expr] = {}

    def change(node: Expr) -> Expr:
        if isinstance(node, Load) and node.buffer in names:
            return Load(names[node.buffer], (index, *node.at), node.dtype)
        return node

    def stores(stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer, at, value):
                return Store(names[buffer], (index, *at), value) if buffer in names else stmt
            case Loop(kind=LoopKind.PARALLEL):  # its iterations would have the memory in common
                return replace(stmt, body=tuple(map(stores, stmt.body)), kind=LoopKind.SERIAL)
            case Loop() | While() | If():
                return replace(stmt, body=tuple(map(stores, stmt.body)))
        return stmt

    return tuple(map(stores, rewrite(body, lambda root: transform(root, change, done))))
