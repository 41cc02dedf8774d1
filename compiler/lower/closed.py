"""A program with open sizes as it is for some values of them, down to its loops: to be looked at.

    for i0 in 0..n0:                        for i0 in 0..64:
      out[i0] = x[i0] / cast(n0)              out[i0] = x[i0] / cast(64)

The right kernel is the left one for n0 = 64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.sizes import evaluate
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Reduce, rebuild, walk
from staticgraph.compiler.kernel.lower_reductions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, If, Kernel, Let, Loop, Stmt, Store, Update, While
from staticgraph.compiler.lower.program import Copy, Instruction, Launch, Loops, Program, Ref

Values = Mapping[str, int]


def closed_program(program: Program, values: Values) -> Program:
    """Return a program with all sizes known. Loops and branches in it stay as they are."""
    if not program.opens:
        return program
    instructions = tuple(_instruction(each, values) for each in program.instructions)
    fullest = tuple(Value(v.node, v.index, v.type.at(values), v.recorder) for v in program.fullest)
    return replace(program.at(values), instructions=instructions, fullest=fullest)


def _instruction(instruction: Instruction, values: Values) -> Instruction:
    match instruction:
        case Launch(work, args, nodes, reads, writes):
            known = tuple(tuple(_ref(r, values) for r in refs) for refs in (args, reads, writes))
            return Launch(_work(work, values), known[0], nodes, known[1], known[2])
        case Copy(target, source, size):
            return Copy(_ref(target, values), _ref(source, values), evaluate(size, values))
    return instruction


def _ref(ref: Ref, values: Values) -> Ref:
    return Ref(ref.slot, evaluate(ref.offset, values))


def _work(work: Loops | Kernel, values: Values) -> Loops | Kernel:
    if isinstance(work, Kernel):
        buffers = {name: _buffer(b, values) for name, b in work.buffers.items()}
        return Kernel(work.name, buffers, tuple(_stmt(s, values) for s in work.body))
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
            return Loop(_index(index, values), tuple(_stmt(s, values) for s in body), kind, share)
        case Let() | Update():
            return replace(stmt, value=_expr(stmt.value, values))
        case Store(buffer, at, value):
            return Store(buffer, tuple(_expr(e, values) for e in at), _expr(value, values))
        case While() | If():
            body = tuple(_stmt(s, values) for s in stmt.body)
            return replace(stmt, condition=_expr(stmt.condition, values), body=body)


def _buffer(buffer: Buffer, values: Values) -> Buffer:
    return replace(buffer, shape=tuple(evaluate(n, values) for n in buffer.shape))


def _index(index: Index, values: Values) -> Index:
    return Index(index.name, evaluate(index.extent, values))


def _expr(root: Expr, values: Values) -> Expr:
    done: dict[Expr, Expr] = {}
    for node in walk(root):
        children = tuple(map(done.__getitem__, node.children))
        match node:
            case Index():
                done[node] = _index(node, values)
            case Extent(size):
                done[node] = Const(evaluate(size, values), int64)
            case Reduce(axes, combine):
                done[node] = Reduce(tuple(_index(i, values) for i in axes), combine, children[0])
            case _:
                done[node] = node if children == node.children else rebuild(node, children)
    return done[root]
