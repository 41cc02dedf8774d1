"""Invariants of every valid kernel.

A broken kernel is a mistake of the compiler, found here instead of in machine code.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DType, bool_, int64
from staticgraph.compiler.graph.sizes import bounds, same
from staticgraph.compiler.kernel.expr import Expr, Load, Local, Reduce, Scalar, free_indices, walk
from staticgraph.compiler.kernel.indices.affine import affine
from staticgraph.compiler.kernel.indices.extremes import is_within
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import obstacle
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS
from staticgraph.compiler.kernel.printer import expression_text, statement_text
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
)


class KernelError(Exception):
    """A kernel is not valid; the message names the statement."""


def verify(kernel: Kernel, placed: bool = True) -> None:
    """Raise `KernelError` unless `kernel` is valid.

    Names are defined before use and not defined twice; dtypes agree; positions
    lie in their buffers as far as ranges tell; only written buffers are written;
    loops marked SIMD or PARALLEL may run so. `placed=False` allows `Reduce`.
    """
    _Verifier(kernel, placed).block(kernel.body, frozenset(), runs=True)


class _Verifier:
    def __init__(self, kernel: Kernel, placed: bool) -> None:
        self.kernel = kernel
        self.buffers = kernel.buffers
        self.placed = placed

    def block(self, body: tuple[Stmt, ...], known: frozenset[Expr], runs: bool, simd: bool = False) -> None:
        """Check `body` where `known` indices and locals have
        values. `runs`: nothing prevents it from running.
        """
        for stmt in body:
            self.statement(stmt, known, runs)
            match stmt:
                case Loop(index, inside, kind):
                    if kind is not LoopKind.SERIAL:
                        nested = simd and kind is LoopKind.SIMD
                        self.require(not nested, stmt, "a SIMD loop inside a SIMD loop")
                        why = obstacle(stmt, self.buffers)
                        self.require(why is None, stmt, f"the loop is marked {kind.value}, but {why}")
                    reached = runs and not same(index.extent, 0)
                    self.block(inside, known | {index}, reached, simd or kind is LoopKind.SIMD)
                case Let(local):
                    known |= {local}
                case While(_, inside) | If(_, inside):
                    self.block(inside, known, False, simd)

    def statement(self, stmt: Stmt, known: frozenset[Expr], runs: bool) -> None:
        names = {getattr(e, "name", None) for e in known}
        for expr in expressions(stmt):
            self.expression(stmt, expr, known, runs)
        match stmt:
            case Loop(index):
                self.require(index.name not in names, stmt, f"{index.name} is defined already")
                self.require(bounds(index.extent)[1] >= 0, stmt, "the extent is negative")
            case Let(local, value):
                self.require(local.name not in names, stmt, f"{local.name} is defined already")
                self.same(stmt, local.dtype, value.dtype)
            case Update(local, value, combine):
                self.require(local in known, stmt, f"{local.name} is not defined here")
                self.same(stmt, local.dtype, value.dtype)
                if combine is not None:
                    self.require(
                        _is_step(local, value, combine), stmt, f"not a step of a reduction by {combine}"
                    )
            case Store(name, at, value):
                buffer = self.position(stmt, name, at, runs)
                self.require(buffer.written, stmt, f"{name} is not a written buffer")
                self.same(stmt, buffer.dtype, value.dtype)
            case While(condition) | If(condition):
                self.same(stmt, bool_, condition.dtype)

    def expression(self, stmt: Stmt, root: Expr, known: frozenset[Expr], runs: bool) -> None:
        for index in free_indices(root) - known:
            self.require(False, stmt, f"{index.name} has no loop here")
        # What an empty reduction would load is never loaded.
        summed = [a for e in walk(root) if isinstance(e, Reduce) for a in e.axes]
        runs = runs and not any(same(a.extent, 0) for a in summed)
        for node in walk(root):
            match node:
                case Local(name):
                    self.require(node in known, stmt, f"{name} is not defined here")
                case Load(buffer, at, dtype):
                    self.same(stmt, self.position(stmt, buffer, at, runs).dtype, dtype)
                case Reduce(axes):
                    self.require(not self.placed, stmt, "a Reduce is left")
                    self.require(len(set(axes)) == len(axes), stmt, "a Reduce has an axis twice")
                case Scalar():
                    if (wrong := dtype_error(node)) is not None:
                        self.require(False, stmt, f"{expression_text(node)}: {wrong}")

    def position(self, stmt: Stmt, name: str, at: tuple[Expr, ...], runs: bool) -> Buffer:
        self.require(name in self.buffers, stmt, f"there is no buffer {name}")
        buffer = self.buffers[name]
        rank = len(buffer.shape)
        self.require(len(at) == rank, stmt, f"{len(at)} positions in {name}, which has rank {rank}")
        for axis, (position, extent) in enumerate(zip(at, buffer.shape, strict=True)):
            self.same(stmt, int64, position.dtype)
            place = simplify_index(position)
            form = affine(place)
            if form is not None and runs and not is_within(place, extent):
                low, high = form.range
                self.require(
                    False,
                    stmt,
                    f"axis {axis} of {name} has the positions 0..{extent - 1}, "
                    f"but {expression_text(position)} runs from {low} to {high}",
                )
        return buffer

    def same(self, stmt: Stmt, expected: DType, found: DType) -> None:
        self.require(expected is found, stmt, f"{found} where {expected} is needed")

    def require(self, condition: bool, stmt: Stmt, why: str) -> None:
        if not condition:
            text = "\n".join("    " + line for line in statement_text(stmt).splitlines())
            raise KernelError(f"kernel {self.kernel.name}: {why}, in\n{text}")


def dtype_error(node: Scalar) -> str | None:
    """Return what is wrong with the dtypes of a scalar operation, or None."""
    operands = [a.dtype for a in node.args]
    if node.op in CONVERSIONS:
        if len(operands) != 1:
            return f"{len(operands)} operands instead of 1"
        sizes_differ = node.op == "bitcast" and operands[0].size != node.dtype.size
        return f"{operands[0]} and {node.dtype} differ in size" if sizes_differ else None
    primitive = PRIMITIVES.get(node.op)
    if primitive is None:
        return f"there is no primitive {node.op}"
    if len(operands) != primitive.arity:
        return f"{len(operands)} operands instead of {primitive.arity}"
    if node.op == "select":
        if operands[0] is not bool_:
            return f"the condition is {operands[0]}"
        operands = operands[1:]
    if any(d is not operands[0] for d in operands):
        return f"operands of {', '.join(dtype.name for dtype in operands)}"
    if operands[0].kind not in primitive.takes:
        return f"{node.op} does not work on {operands[0]}"
    result = bool_ if primitive.predicate else operands[0]
    return None if node.dtype is result else f"the result is {result}, not {node.dtype}"


def _is_step(local: Local, value: Expr, combine: str) -> bool:
    match value:
        case Scalar(op, (a, b)) if op == combine and local in (a, b):
            return local not in walk(b if a is local else a)
    return False
