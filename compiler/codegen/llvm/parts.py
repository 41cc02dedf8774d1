"""Parts of a long function: the body of a long `If` becomes a function of its own, called in its place.

LLVM takes longer for a function than Python takes to print it, and compiles a part while the text around it
is printed. The parameters of a part are numbered in the order in which it needs them, so bodies that are
written alike are one function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from staticgraph.compiler.codegen.llvm.expr import ExprPrinter, LlvmValue
from staticgraph.compiler.codegen.llvm.lanes import own_operations
from staticgraph.compiler.codegen.llvm.text import Code, register_type
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, ScalarParameter, walk
from staticgraph.compiler.kernel.stmt import (
    Kernel,
    Let,
    Loop,
    Stmt,
    Store,
    expressions,
    inner,
    statements,
    updates_of_outer,
)
from staticgraph.compiler.support.dataclass import replace

_LONG = 300  # operations of a function that has parts: LLVM takes 50 ms or more for it
_PART = range(25, 600)  # operations of a part: LLVM takes 3 to 50 ms, and a call is nothing to its loops


class _Writer(Protocol):
    """Writes the function of a kernel."""

    printer: ExprPrinter
    pointers: dict[str, str]

    def write(self) -> None: ...
    def code(self, more: list[str]) -> Code: ...


def calls_of_parts(
    kernel: Kernel,
    body: tuple[Stmt, ...],
    write: Callable[[Kernel, dict[Size, str]], _Writer],
    begin: Callable[[Code], None] | None,
) -> Callable[[tuple[Stmt, ...], _Writer], bool] | None:
    """Return what writes the calls of the parts of a function, None if it is not long.

    Args:
        kernel: The kernel of the function.
        body: What the function does.
        write: Gives what writes the function of a kernel with these parameters of open sizes.
        begin: Called with each part.
    """
    parts = _Parts(kernel, write, begin)
    return parts.call if parts.operations(body) >= _LONG else None


class _Parts:
    def __init__(
        self,
        kernel: Kernel,
        write: Callable[[Kernel, dict[Size, str]], _Writer],
        begin: Callable[[Code], None] | None,
    ) -> None:
        self._kernel, self._write, self._begin = kernel, write, begin
        self._known: dict[Stmt, int] = {}  # operations: many are asked about, one inside the other

    def operations(self, body: tuple[Stmt, ...]) -> int:
        """About how many operations statements have."""
        for stmt in body:
            if stmt not in self._known:
                self._known[stmt] = own_operations(stmt) + self.operations(inner(stmt))
        return sum(map(self._known.__getitem__, body))

    def call(self, body: tuple[Stmt, ...], outer: _Writer) -> bool:
        """Write a call of a part that does `body`, if it is one. Return True if so."""
        if self.operations(body) not in _PART or updates_of_outer(body):
            return False
        names, values = _taken(body)
        buffers = {n: replace(self._kernel.buffers[n], local=False, shared=False) for n in names}
        sizes: dict[Size, str] = {}
        part = self._write(Kernel(self._kernel.name, buffers, body), sizes)
        types = [register_type(value.dtype) for value in values]
        for k, value in enumerate(values):
            part.printer.bind(value, LlvmValue(f"%a{k}"))
        part.write()
        code = part.code([f"{kind} %a{k}" for k, kind in enumerate(types)])
        if self._begin is not None:
            self._begin(code)
        outer.printer.emitter.call_shared(
            code,
            *(("ptr", outer.pointers[name]) for name in names),
            *(("i64", outer.printer.extent(size)) for size in sizes),
            *((kind, outer.printer.single(value)) for kind, value in zip(types, values, strict=True)),
        )
        return True


def _taken(body: tuple[Stmt, ...]) -> tuple[list[str], list[Expr]]:
    """Return the buffers and the values that statements take from outside, in order."""
    every = statements(body)
    own: set[Expr] = {s.local for s in every if isinstance(s, Let)}
    own |= {s.index for s in every if isinstance(s, Loop)}
    buffers: dict[str, None] = {}
    values: dict[Expr, None] = {}
    for stmt in every:
        for node in walk(*expressions(stmt)):
            if isinstance(node, (Load, ScalarParameter)):
                buffers[node.buffer] = None
            elif isinstance(node, (Index, Local)) and node not in own:
                values[node] = None
        if isinstance(stmt, Store):
            buffers[stmt.buffer] = None
    return [*buffers], [*values]
