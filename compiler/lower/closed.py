"""A program with open sizes as it is for some values of them, down to the loops of its kernels.

    for i0 in 0..n0:                        for i0 in 0..64:
      out[i0] = x[i0] / cast(n0)              out[i0] = x[i0] / cast(64)

The right kernel is the left one for n0 = 64. So programs with open sizes are shown, and a GPU runs them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.open_sizes import attribute_at
from staticgraph.compiler.graph.sizes import Size, evaluate
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Reduce, transform
from staticgraph.compiler.kernel.form import Copies, Unproven
from staticgraph.compiler.kernel.indices.in_bounds import in_bounds
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    Form,
    If,
    Kernel,
    Let,
    Loop,
    Share,
    Span,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.compiler.lower.program import (
    Branch,
    Carried,
    Copy,
    HostCall,
    Inner,
    Instruction,
    Launch,
    LoopInstruction,
    Loops,
    Program,
    Ref,
    Require,
    RowAt,
    buffers_of,
)
from staticgraph.compiler.lower.routine_forms import is_proven

Values = Mapping[str, int]


def closed_program(program: Program, values: Values, bare: Container[int] = ()) -> Program:
    """Return a program with all sizes known, its instructions in the same order.

    Of the kernels of launches whose identities are in `bare`, it has only the buffers.
    """
    if not program.opens:
        return program
    instructions = tuple(_instruction(each, values, bare) for each in program.instructions)
    fullest = tuple(Value(v.node, v.index, v.type.at(values), v.recorder) for v in program.fullest)
    return replace(program.at(values), instructions=instructions, fullest=fullest)


def _instruction(instruction: Instruction, values: Values, bare: Container[int]) -> Instruction:
    match instruction:
        case Launch(work, args, nodes, reads, writes):
            known = tuple(tuple(_ref(r, values) for r in refs) for refs in (args, reads, writes))
            here = _bare(work, values) if id(instruction) in bare else closed_work(work, values)
            return Launch(here, known[0], nodes, known[1], known[2])
        case Copy(target, source, size):
            return Copy(_ref(target, values), _ref(source, values), evaluate(size, values))
        case HostCall():
            return instruction.at(values)
        case Branch(index, inputs, outputs, branches, node):
            given, made = (tuple(_ref(r, values) for r in refs) for refs in (inputs, outputs))
            inner = tuple(_inner(each, values, bare) for each in branches)
            return Branch(_ref(index, values), given, made, inner, _node(node, values))
        case Require(flag):
            return Require(_ref(flag, values))
        case LoopInstruction():
            return _loop(instruction, values, bare)


def _loop(loop: LoopInstruction, values: Values, bare: Container[int]) -> LoopInstruction:
    def carried(each: Carried) -> Carried:
        init, other = (None if r is None else _ref(r, values) for r in (each.init, each.other))
        return Carried(init, _ref(each.final, values), other, evaluate(each.size, values), each.counts)

    def row(each: RowAt) -> RowAt:
        rows, size = evaluate(each.rows, values), evaluate(each.size, values)
        return replace(each, base=_ref(each.base, values), rows=rows, size=size)

    return LoopInstruction(
        _ref(loop.pred, values),
        tuple(map(carried, loop.carried)),
        tuple(_ref(r, values) for r in loop.captures),
        tuple(map(carried, loop.whole)),
        tuple(map(row, loop.reads)),
        tuple(map(row, loop.writes)),
        _ref(loop.spare, values),
        evaluate(loop.row, values),
        _inner(loop.body, values, bare),
        _node(loop.node, values),
    )


def _inner(inner: Inner, values: Values, bare: Container[int]) -> Inner:
    places = (_ref(r, values) for r in (inner.table, inner.arena, inner.constants, inner.pred))
    return Inner(closed_program(inner.program, values, bare), *places)


def _node(node: Node, values: Values) -> Node:
    """A node that tells how many rounds there are."""
    attrs = {name: attribute_at(value, values) for name, value in node.attrs.items()}
    types = tuple(v.type.at(values) for v in node.outputs)
    return Node(node.op, node.inputs, attrs, types, node.serial, node.where, None)


def _ref(ref: Ref, values: Values) -> Ref:
    return Ref(ref.slot, evaluate(ref.offset, values))


def _bare(work: Loops | Kernel, values: Values) -> Loops:
    return Loops((), tuple((name, _buffer(b, values)) for name, b in buffers_of(work).items()))


def closed_work(work: Loops | Kernel, values: Values) -> Loops | Kernel:
    """Return a kernel with all sizes known."""
    if isinstance(work, Kernel):
        buffers = {name: _buffer(b, values) for name, b in work.buffers.items()}
        if isinstance(work.form, Unproven):
            unclamped, form = (_part(part, values) for part in (work.form.body, work.form.form))
            body = in_bounds(unclamped, buffers)
            return Kernel(work.name, buffers, body, form if is_proven(form, buffers) else None)
        body = tuple(_stmt(s, values) for s in work.body)
        return Kernel(work.name, buffers, body, _part(work.form, values))
    return Loops(
        tuple(_nest(nest, values) for nest in work.nests),
        tuple((name, _buffer(b, values)) for name, b in work.buffers),
        tuple(_index(i, values) for i in work.rows),
        tuple(_nest(nest, values) for nest in work.sums),
    )


def _nest(nest: Nest, values: Values) -> Nest:
    domain = tuple(_index(i, values) for i in nest.domain)
    stores = tuple(
        Store(s.buffer, tuple(_expr(e, values) for e in s.at), _expr(s.value, values)) for s in nest.stores
    )
    return Nest(domain, stores)


def _stmt(stmt: Stmt, values: Values) -> Stmt:
    match stmt:
        case Loop(index, body, kind, share):
            inner = tuple(_stmt(s, values) for s in body)
            return Loop(_index(index, values), inner, kind, _share(share, values))
        case Let() | Update():
            return replace(stmt, value=_expr(stmt.value, values))
        case Store(buffer, at, value):
            return Store(buffer, tuple(_expr(e, values) for e in at), _expr(value, values))
        case While() | If():
            body = tuple(_stmt(s, values) for s in stmt.body)
            return replace(stmt, condition=_expr(stmt.condition, values), body=body)


def _share(share: Share | Span | None, values: Values) -> Share | Span | None:
    match share:
        case Share(part, count, unit):
            return Share(_expr(part, values), evaluate(count, values), unit)
        case Span(start, stop):
            return Span(_expr(start, values), _expr(stop, values))
    return None


def _part(part: Any, values: Values) -> Any:
    """A description of what a kernel computes, or a part of one."""
    match part:
        case Size():
            return evaluate(part, values)
        case Expr():
            return _expr(part, values)
        case Buffer():
            return _buffer(part, values)
        case tuple():
            return tuple(_part(each, values) for each in part)
        case dict():
            return {name: _part(each, values) for name, each in part.items()}
        case Form() | Copies():
            names = (field.name for field in fields(cast(Any, part)))
            return type(part)(**{name: _part(getattr(part, name), values) for name in names})
        case Let() | Update() | Store() | Loop() | While() | If():
            return _stmt(part, values)
    return part


def _buffer(buffer: Buffer, values: Values) -> Buffer:
    return replace(buffer, shape=tuple(evaluate(n, values) for n in buffer.shape))


def _index(index: Index, values: Values) -> Index:
    return Index(index.name, evaluate(index.extent, values))


def _expr(root: Expr, values: Values) -> Expr:
    def change(node: Expr) -> Expr:
        match node:
            case Index():
                return _index(node, values)
            case Extent(size):
                return Const(evaluate(size, values), int64)
            case Reduce(axes, combine, value):
                return Reduce(tuple(_index(i, values) for i in axes), combine, value)
        return node

    return transform(root, change)
