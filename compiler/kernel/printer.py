"""Kernels as text, to be read by people: the form that golden tests, dumps and error messages show.

    kernel softmax(x: float32[4, 6], out: float32[4, 6] written):
      for i0 in 0..4:
        acc0: float32 = -inf
        for k0 in 0..6 simd:
          acc0 max= x[i0, k0]
        acc1: float32 = 0.0
        for k1 in 0..6 simd:
          acc1 += exp(x[i0, k1] - acc0)
        for i1 in 0..6 simd:
          out[i0, i1] = exp(x[i0, i1] - acc0) / acc1

`acc0 max= x` is a step of a reduction, `acc0 = x` an ordinary assignment. Where a statement uses a
sub-expression of some size more than once, a line `%0 = ...` before it gives it a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Reduce,
    Scalar,
    ScalarParameter,
    walk,
)
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Share,
    Span,
    Stmt,
    Store,
    Update,
    While,
    expressions,
)

_COMBINERS = {"add": "+=", "mul": "*=", "maximum": "max=", "minimum": "min=", "and": "&=", "or": "|="}
# Operator and binding strength, as in Python.
# fmt: off
_INFIX = {
    "mul": ("*", 7), "div": ("/", 7), "floordiv": ("//", 7), "floormod": ("%", 7),
    "add": ("+", 6), "sub": ("-", 6),
    "shl": ("<<", 5), "shr": (">>", 5),
    "and": ("&", 4), "xor": ("^", 3), "or": ("|", 2),
    "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1), "eq": ("==", 1), "ne": ("!=", 1),
}
# fmt: on
_PREFIX = {"neg": "-", "invert": "~"}
_TIGHT, _LOOSE = 9, 0
_WORTH_A_NAME = 6  # parts of a shared sub-expression


def kernel_text(kernel: Kernel) -> str:
    """The whole kernel."""
    arguments = ", ".join(
        f"{name}: {_array(b)}{' written' if b.written else ''}" for name, b in kernel.arguments.items()
    )
    scratch = [f"  shared {name}: {_array(b)}" for name, b in kernel.shared.items()]
    scratch += [f"  local {name}: {_array(b)}" for name, b in kernel.locals.items()]
    return "\n".join([f"kernel {kernel.name}({arguments}):", *scratch, *_block(kernel.body, "  ")]) + "\n"


def _array(buffer: Buffer) -> str:
    return f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def statement_text(stmt: Stmt) -> str:
    """One statement with what is inside it."""
    return "\n".join(_lines(stmt, ""))


def expression_text(expr: Expr) -> str:
    """One expression on one line, shared parts repeated."""
    return _Names(()).text(expr)


def _block(body: tuple[Stmt, ...], margin: str) -> Iterator[str]:
    if not body:
        yield margin + "pass"
    for stmt in body:
        yield from _lines(stmt, margin)


def _lines(stmt: Stmt, margin: str) -> Iterator[str]:
    names = _Names(expressions(stmt))
    for name, definition in names.shared():
        yield f"{margin}{name} = {definition}"
    text = names.text
    match stmt:
        case Loop(index, body, kind, share):
            suffix = "" if kind is LoopKind.SERIAL else f" {kind.value}"
            yield f"{margin}for {index.name} in 0..{index.extent!r}{_part(share, text)}{suffix}:"
            yield from _block(body, margin + "  ")
        case Let(local, value):
            yield f"{margin}{local.name}: {local.dtype} = {text(value)}"
        case Update(local, Scalar(op, (first, rest)), combine) if op == combine and first is local:
            yield f"{margin}{local.name} {_COMBINERS[op]} {text(rest)}"
        case Update(local, value, combine):
            yield f"{margin}{local.name} = {text(value)}" + (f"  # {combine}" if combine else "")
        case Store(buffer, at, value):
            yield f"{margin}{buffer}[{', '.join(map(text, at))}] = {text(value)}"
        case While(condition, body):
            yield f"{margin}while {text(condition)}:"
            yield from _block(body, margin + "  ")
        case If(condition, body):
            yield f"{margin}if {text(condition)}:"
            yield from _block(body, margin + "  ")


def _part(share: Share | Span | None, text: Callable[[Expr], str]) -> str:
    match share:
        case Share(part, count):
            return f" part {text(part)} of {count!r}"
        case Span(start, stop):
            return f" from {text(start)} to {text(stop)}"
    return ""


class _Names:
    """The names that large shared sub-expressions of one statement get."""

    def __init__(self, roots: tuple[Expr, ...]) -> None:
        uses: dict[Expr, int] = {}
        size: dict[Expr, int] = {}
        self.named: dict[Expr, str] = {}
        nodes = walk(*roots)
        for node in nodes:
            for child in node.children:
                uses[child] = uses.get(child, 0) + 1
        for node in nodes:
            size[node] = 1 + sum(1 if c in self.named else size[c] for c in node.children)
            # A position is short when it is read in place; what a Reduce binds has no meaning outside it.
            if uses.get(node, 0) > 1 and size[node] >= _WORTH_A_NAME and isinstance(node, Scalar):
                if not any(isinstance(e, Reduce) for e in nodes):
                    self.named[node] = f"%{len(self.named)}"

    def shared(self) -> Iterator[tuple[str, str]]:
        for node, name in self.named.items():
            yield name, self.text(node, definition=True)

    def text(self, expr: Expr, strength: int = _LOOSE, definition: bool = False) -> str:
        if expr in self.named and not definition:
            return self.named[expr]
        match expr:
            case ScalarParameter(buffer):
                return f"{buffer}[]"
            case Const(value):
                return f"({value})" if strength == _TIGHT and repr(value).startswith("-") else repr(value)
            case Index(name) | Local(name):
                return name
            case Extent(size):
                return repr(size) if strength == _LOOSE or repr(size).isidentifier() else f"({size!r})"
            case Load(buffer, at):
                return f"{buffer}[{', '.join(self.text(a) for a in at)}]"
            case Reduce(axes, combine, value):
                over = ", ".join(f"{a.name} in 0..{a.extent!r}" for a in axes)
                return f"{combine}({self.text(value)} for {over})"
            case Scalar("cast", (x,), dtype):
                return f"{dtype}({self.text(x)})"
            case Scalar("bitcast", (x,), dtype):
                return f"bitcast_{dtype}({self.text(x)})"
            case Scalar(op, (a, b)) if op in _INFIX:
                sign, own = _INFIX[op]
                # Comparisons do not chain, and a - (b - c) keeps its parentheses.
                left = self.text(a, own + 1 if own == 1 else own)
                inside = f"{left} {sign} {self.text(b, own + 1)}"
                return f"({inside})" if own < strength else inside
            case Scalar(op, (a,)) if op in _PREFIX:
                return f"{_PREFIX[op]}{self.text(a, _TIGHT)}"
            case Scalar(op, args):
                return f"{op}({', '.join(self.text(a) for a in args)})"
        raise TypeError(f"not an expression: {expr!r}")
