"""Complex expressions, statements and buffers replaced by real ones.

    out[i0] = mul(x[i0], y[i0])                       of complex64[8]

becomes

    out[i0, 0] = x[i0, 0] * y[i0, 0] - x[i0, 1] * y[i0, 1]       of float32[8, 2]
    out[i0, 1] = x[i0, 0] * y[i0, 1] + x[i0, 1] * y[i0, 0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel.complex_numbers.formulas import FORMULAS, Pair
from staticgraph.compiler.kernel.expr import Const, Expr, Load, Local, Reduce, Scalar, rebuild, walk
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.instructions import cast
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    Stmt,
    Store,
    Update,
    While,
    expressions,
    statements,
)
from staticgraph.compiler.support.dataclass import replace

_INTO_PAIRS = frozenset({"complex", "cast", "select", *FORMULAS})
_OUT_OF_PAIRS = frozenset({"real", "imag", "cast", "eq", "ne"})
_AXIS = (Const(0, int64), Const(1, int64))  # the positions of the two parts


def can_split(exprs: Iterable[Expr]) -> bool:
    """Return True if real expressions can take the place of all complex ones of `exprs`."""
    for node in exprs:
        match node:
            case Scalar(op) if node.dtype.is_complex:
                known = op in _INTO_PAIRS
            case Reduce(_, combine) if node.dtype.is_complex:
                known = combine == "add"
            case Scalar(op, args) if any(a.dtype.is_complex for a in args):
                known = op in _OUT_OF_PAIRS
            case _:
                known = True
        if not known:
            return False
    return True


def split_buffers(buffers: Mapping[str, Buffer]) -> dict[str, Buffer]:
    """The buffers as real ones: those of complex numbers get a last axis of 2."""
    return {
        name: replace(b, dtype=b.dtype.real_dtype, shape=(*b.shape, 2)) if b.dtype.is_complex else b
        for name, b in buffers.items()
    }


def split_stores(stores: tuple[Store, ...]) -> tuple[Store, ...]:
    """The stores with real values; of a complex value one for each part."""
    made = split_body(stores)
    assert all(isinstance(s, Store) for s in made)
    return made  # type: ignore[return-value]


def split_body(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements with real values: what is done with a complex one is done with each part."""
    if not any(e.dtype.is_complex for stmt in statements(body) for e in walk(*expressions(stmt))):
        return body
    return _split_body(body, {})


def _split_body(body: tuple[Stmt, ...], done: dict[Expr, Expr | Pair]) -> tuple[Stmt, ...]:
    def real(e: Expr) -> Expr:
        return _real(_split(e, done))

    made: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Store(buffer, at, value):
                at = tuple(map(real, at))
                match _split(value, done):
                    case (re, im):
                        made += [Store(buffer, (*at, k), v) for k, v in zip(_AXIS, (re, im), strict=True)]
                    case single:
                        made.append(Store(buffer, at, _real(single)))
            case Let(local, value) | Update(local, value) if local.dtype.is_complex:
                # Both parts are known before either is changed.
                own, parts = _pair(_split(local, done)), _pair(_split(value, done))
                if isinstance(stmt, Update) and stmt.combine is None:
                    new = [Local(f"{each.name}_new", each.dtype) for each in own if isinstance(each, Local)]
                    made += [Let(n, v) for n, v in zip(new, parts, strict=True)]
                    parts = new[0], new[1]
                for each, part in zip(own, parts, strict=True):
                    assert isinstance(each, Local)
                    made.append(replace(stmt, local=each, value=part))
            case Let() | Update():
                made.append(replace(stmt, value=real(stmt.value)))
            case Loop(body=inner):
                made.append(replace(stmt, body=_split_body(inner, done)))
            case While() | If():
                made.append(replace(stmt, condition=real(stmt.condition), body=_split_body(stmt.body, done)))
    return tuple(made)


def _real(value: Expr | Pair) -> Expr:
    assert isinstance(value, Expr)
    return value


def _pair(value: Expr | Pair) -> Pair:
    assert isinstance(value, tuple)
    return value


def _split(root: Expr, done: dict[Expr, Expr | Pair]) -> Expr | Pair:
    for node in walk(root):
        if node not in done:
            children = tuple(done[c] for c in node.children)
            if node.dtype.is_complex:
                done[node] = _parts(node, children)
            elif any(isinstance(c, tuple) for c in children):
                assert isinstance(node, Scalar), node
                done[node] = _of_pairs(node, children)
            else:
                plain = tuple(map(_real, children))
                done[node] = node if plain == node.children else rebuild(node, plain)
    return done[root]


def _parts(node: Expr, children: tuple[Expr | Pair, ...]) -> Pair:
    """The parts of a complex expression."""
    part = node.dtype.real_dtype
    match node:
        case Const(value):
            return Const(value, part), Const(0.0, part)
        case Local(name):
            return Local(f"{name}_re", part), Local(f"{name}_im", part)
        case Load(buffer):
            at = tuple(map(_real, children))
            return Load(buffer, (*at, _AXIS[0]), part), Load(buffer, (*at, _AXIS[1]), part)
        case Reduce(axes, combine):
            real, imag = _pair(children[0])
            return Reduce(axes, combine, real), Reduce(axes, combine, imag)
        case Scalar("complex"):
            return _real(children[0]), _real(children[1])
        case Scalar("cast"):
            match children[0]:
                case (real, imag):
                    return cast(real, part), cast(imag, part)
                case single:
                    return cast(_real(single), part), Const(0.0, part)
        case Scalar("select"):
            condition = _real(children[0])
            (a, b), (c, d) = map(_pair, children[1:])
            return instructions.select(condition, a, c), instructions.select(condition, b, d)
        case Scalar(op):
            return FORMULAS[op](*map(_pair, children))
    raise ValueError(f"{node} has no parts")


def _of_pairs(node: Scalar, children: tuple[Expr | Pair, ...]) -> Expr:
    """A real expression of complex ones."""
    real, imag = _pair(children[0])
    match node.op:
        case "real":
            return real
        case "imag":
            return imag
        case "cast" if node.dtype.is_bool:
            return cast(real, node.dtype) | cast(imag, node.dtype)
        case "cast":
            return cast(real, node.dtype)
    other_real, other_imag = _pair(children[1])
    if node.op == "eq":
        return instructions.eq(real, other_real) & instructions.eq(imag, other_imag)
    return instructions.ne(real, other_real) | instructions.ne(imag, other_imag)
