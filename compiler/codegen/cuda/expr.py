"""Writing scalar expressions as C statements, each part of them once.

An expression is a DAG: every operation becomes a constant of its own, in the block where it is first needed.
Positions, which are int64, are computed in `int` wherever all that leads to them fits: that is several times
as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.scalar import apply, constant, convert, has_text, loaded, stored
from staticgraph.compiler.graph.dtypes import DType, int32, int64, uint64
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Scalar,
    missing,
    substitute,
    subtracts_from_product,
)
from staticgraph.compiler.kernel.indices.affine import Affine, bounds
from staticgraph.compiler.kernel.indices.index import offset
from staticgraph.compiler.kernel.lower_expressions import approximate
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS
from staticgraph.compiler.kernel.stmt import Buffer, Store

Element = Callable[["CudaWriter", Load], str | None]
_DIVISION = {"floordiv": "/", "truncdiv": "/", "floormod": "%", "truncmod": "%"}
_PLAIN = {"add": "+", "sub": "-", "mul": "*"}
_NARROW = {*_DIVISION, *_PLAIN, "neg", "abs", "minimum", "maximum", "select", "cast"}


class KnownValue(NamedTuple):
    """Text of an expression in C.

    If `narrow`, the C type is `int`, although the dtype is int64.
    """

    text: str
    narrow: bool = False
    reads: frozenset[Expr | str] = frozenset()  # the locals, buffers and so on that it was computed from


class CudaWriter:
    r"""Writes the body of a function, statement by statement.

    `element` may give the text of a loaded number that lies elsewhere than in its buffer, such as in
    registers; it gets the writer and the load, and answers None for what it leaves alone. `pointers` has the
    C name of each buffer, which is its own unless a template changes it.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> i, x = Index("i", 100), Buffer(float32, (100,))
    >>> writer = CudaWriter({"x": x, "y": x})
    >>> with writer.block("for (int i = 0; i < 100; ++i)"):
    ...     writer.bind(i, "i", narrow=True)
    ...     number = Load("x", (i,), float32)
    ...     writer.store("y", (i,), number * number + 1.0)
    >>> print(writer.text)
    for (int i = 0; i < 100; ++i) {
      const float t_1 = x[i];
      const float t_2 = t_1 * t_1;
      const float t_3 = t_2 + 1.0f;
      y[i] = t_3;
    }
    """

    def __init__(self, buffers: Mapping[str, Buffer], element: Element | None = None) -> None:
        self.buffers = buffers
        self.pointers = {name: name for name in buffers}
        self._element = element
        self._lines: list[str] = []
        self._known: dict[Expr, KnownValue] = {}
        self._scopes: list[list[Expr]] = [[]]
        self._names = 0

    @property
    def text(self) -> str:
        """The text that has been written so far."""
        return "\n".join(self._lines)

    def line(self, text: str) -> None:
        """Write a statement, or several lines of them."""
        indent = "  " * (len(self._scopes) - 1)
        self._lines += [f"{indent}{line}" for line in text.split("\n")]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head { ... }`. What becomes known inside is known only there."""
        self.line(f"{head} {{".lstrip())
        self._scopes.append([])
        yield
        for expr in self._scopes.pop():
            self._known.pop(expr, None)
        self.line("}")

    def name(self, base: str) -> str:
        """A name that nothing else in the function has."""
        self._names += 1
        return f"{base}_{self._names}"

    def bind(self, expr: Expr, text: str, narrow: bool = False) -> None:
        """From here to the end of the block, `expr` is called `text`, whatever is stored in the meantime.

        `narrow`: an `int` of dtype int64.
        """
        if expr in self._known:
            self.forget((expr,))
        self._learn(
            expr, KnownValue(text, narrow, frozenset() if isinstance(expr, Index) else frozenset({expr}))
        )

    def bind_index(self, index: Index, text: str) -> None:
        """From here to the end of the block, a loop variable has the value `text`, of type `index_type`."""
        self.bind(index, text, narrow=fits(index))

    def forget(self, changed: Iterable[Expr | str]) -> None:
        """Drop cached values that were computed from changed locals, buffers or other bound expressions.

        The bindings of `changed` themselves stay.
        """
        gone = frozenset(changed)
        stale = [e for e, known in self._known.items() if not gone.isdisjoint(known.reads) and e not in gone]
        for expr in stale:
            del self._known[expr]

    def value(self, expr: Expr) -> str:
        """The text of an expression: a name, or a constant."""
        return self._value(expr).text

    def wide(self, expr: Expr) -> str:
        """The text of an expression, in the type of its dtype: an int64 is never an `int`."""
        known = self._value(expr)
        return f"int64_t({known.text})" if known.narrow else known.text

    def define(self, local: Local, value: Expr, constant: bool = False) -> None:
        """Declare a local; one that is not `constant` can be given other values with `assign`."""
        text = self.wide(value)
        name = self.name(local.name)
        self.line(f"{'const ' if constant else ''}{register_type(local.dtype)} {name} = {text};")
        self.bind(local, name)

    def assign(self, local: Local, value: Expr) -> None:
        """Give a local another value."""
        text = self.wide(value)
        self.line(f"{self._known[local].text} = {text};")
        self.forget((local,))

    def store(self, buffer: str, at: tuple[Expr, ...], value: Expr) -> None:
        """Write an element of a buffer."""
        text, place = stored(self.buffers[buffer].dtype, self.wide(value)), self.place(buffer, at)
        self.line(f"{self.pointers[buffer]}[{place}] = {text};")
        self.forget((buffer,))

    def store_all(self, stores: Sequence[Store]) -> None:
        """Write several elements, when the values of all of them are known."""
        texts = [stored(self.buffers[s.buffer].dtype, self.wide(s.value)) for s in stores]
        for store, text in zip(stores, texts, strict=True):
            self.line(f"{self.pointers[store.buffer]}[{self.place(store.buffer, store.at)}] = {text};")
        self.forget([s.buffer for s in stores])

    def place(self, buffer: str, at: tuple[Expr, ...]) -> str:
        """The number of an element in its buffer."""
        return self._place(self.buffers[buffer], at).text

    def _place(self, buffer: Buffer, at: tuple[Expr, ...]) -> KnownValue:
        form = offset(buffer, at)
        if is_open((buffer.size, *form.terms.values())):
            return self._open_place(form)
        terms = sorted(form.terms.items(), key=lambda t: (t[1] < 0, -abs(t[1]), getattr(t[0], "name", "~")))
        known = [(self._value(term), factor) for term, factor in terms]
        reads = self._reads(term for term, _ in terms)
        if all(k.narrow for k, _ in known) and _magnitude(form) <= int32.max:
            return KnownValue(_sum([(k.text, f) for k, f in known], form.constant), True, reads)
        if buffer.size <= int32.max:  # what overflows on the way does not matter
            parts = [(f"unsigned({k.text})", f % 2**32) for k, f in known]
            return KnownValue(f"int({_sum(parts, form.constant % 2**32, 'u')})", True, reads)
        return KnownValue(_sum([(f"int64_t({k.text})", f) for k, f in known], form.constant), False, reads)

    def _open_place(self, form: Affine) -> KnownValue:
        """Place of an element if sizes are open: a launch has no buffers whose positions are no `int`."""
        parts = []
        for term, factor in form.terms.items():
            text = f"unsigned({self._value(term).text})"
            if isinstance(factor, Size):
                parts.append(f"{text} * unsigned({factor})")
            elif factor != 1:
                parts.append(f"{text} * {factor % 2**32}u")
            else:
                parts.append(text)
        if form.constant or not parts:
            parts.append(f"{form.constant % 2**32}u")
        return KnownValue(f"int({' + '.join(parts)})", True, self._reads(form.terms))

    def _learn(self, expr: Expr, known: KnownValue) -> None:
        self._known[expr] = known
        self._scopes[-1].append(expr)

    def _value(self, expr: Expr) -> KnownValue:
        for node in missing(expr, self._known, self._operands):
            if node not in self._known:  # as what the position of a load before has printed
                self._learn(node, self._print(node))
        return self._known[expr]

    def _operands(self, node: Expr) -> tuple[Expr, ...]:
        """Return the operands to print before `node`.

        A `Load` prints its position itself. A formula prints the operands of its function as parts of itself.
        """
        return node.args if isinstance(node, Scalar) and not _is_formula(node) else ()

    def _print(self, node: Expr) -> KnownValue:
        match node:
            case Const(value, dtype):
                narrow = dtype is int64 and fits(node)
                return KnownValue(constant(value, int32 if narrow else dtype), narrow)
            case Extent(size):
                return KnownValue(f"{size}", True)
            case Index(_, int(1)):
                return KnownValue("0", True)
            case Load(buffer):
                text = None if self._element is None else self._element(self, node)
                if text is not None:
                    return KnownValue(text, False, self._reads(node.at) | {buffer})
                place = self._place(self.buffers[buffer], node.at)
                text = loaded(node.dtype, f"{self.pointers[buffer]}[{place.text}]")
                return KnownValue(self._constant(node.dtype, text), False, place.reads | {buffer})
            case Scalar() if _is_formula(node):
                return self._value(_formula(node))
            case Scalar():
                return self._scalar(node)
        raise ValueError(f"{node} has no value here")

    def _scalar(self, node: Scalar) -> KnownValue:
        operands = [self._known[x] for x in node.args]
        narrow = _is_narrow(node, operands)
        if narrow:
            text = _narrow(node, [o.text for o in operands])
        else:
            text = _instruction(node, operands)
        reads = self._reads(node.args)
        return KnownValue(self._constant(int32 if narrow else node.dtype, text), narrow, reads)

    def _reads(self, parts: Iterable[Expr]) -> frozenset[Expr | str]:
        return frozenset[Expr | str]().union(*(self._known[x].reads for x in parts if x in self._known))

    def _constant(self, dtype: DType, text: str) -> str:
        name = self.name("t")
        self.line(f"const {register_type(dtype)} {name} = {text};")
        return name


def _magnitude(form: Affine) -> int | float:
    """No part of the sum, and no sum of some of its parts, is greater."""
    ends = (abs(factor) * max(map(abs, bounds(term))) for term, factor in form.terms.items())
    return sum(ends, abs(form.constant))


def _sum(terms: list[tuple[str, int]], constant: int, suffix: str = "") -> str:
    parts = [(text if abs(f) == 1 else f"{text} * {abs(f)}{suffix}", f) for text, f in terms]
    if constant or not parts:
        parts.append((f"{abs(constant)}{suffix}", constant))
    first, *rest = (f"{'-' if f < 0 else '+'} {text}" for text, f in parts)
    return " ".join([first.removeprefix("+ ").replace("- ", "-"), *rest])


def fits(expr: Expr) -> bool:
    """True if all values of an integer expression fit in `int`."""
    low, high = bounds(expr)
    return int32.min <= low and high <= int32.max


def index_type(index: Index) -> str:
    """The type of a loop variable, which also goes as far as its extent."""
    if isinstance(index.extent, Size):
        return "int" if fits(index) else "int64_t"
    return counter(index.extent)


def counter(most: AnySize) -> str:
    """The type of a variable that counts up to `most`. What is open is at most what a launch may have."""
    return "int" if isinstance(most, Size) or most <= int32.max else "int64_t"


def _is_narrow(node: Scalar, operands: list[KnownValue]) -> bool:
    if node.dtype is not int64 or node.op not in _NARROW or not fits(node):
        return False
    if node.op == "cast":
        return node.args[0].dtype.is_bool or (node.args[0].dtype.is_integer and fits(node.args[0]))
    return all(o.narrow for o, x in zip(operands, node.args, strict=True) if x.dtype is int64)


def _is_plain_division(node: Scalar) -> bool:
    """True if the dividend is never negative and the divisor is a positive constant."""
    dividend, divisor = node.args
    return isinstance(divisor, Const) and divisor.value > 0 and bounds(dividend)[0] >= 0


def _narrow(node: Scalar, operands: list[str]) -> str:
    """An operation on positions that fit `int`, and so does the result."""
    if node.op in _DIVISION and _is_plain_division(node):
        return f"int(unsigned({operands[0]}) {_DIVISION[node.op]} {operands[1]}u)"
    if node.op in _PLAIN:
        return f" {_PLAIN[node.op]} ".join(operands)
    if node.op == "cast":
        return f"int({operands[0]})"
    return apply(node.op, int32, *operands)


def _instruction(node: Scalar, operands: list[KnownValue]) -> str:
    source = node.args[-1].dtype
    if node.op == "cast":
        return convert("cast", source, node.dtype, operands[0].text)
    texts = [f"int64_t({o.text})" if o.narrow else o.text for o in operands]
    if node.op in CONVERSIONS:
        return convert(node.op, source, node.dtype, texts[0])
    if PRIMITIVES[node.op].predicate and all(o.narrow for o in operands):
        texts = [o.text for o in operands]
    if _is_product_of_halves(node):
        return f"wide_mul({', '.join(f'uint32_t({text})' for text in texts)})"
    if subtracts_from_product(node):
        return f"exact_sub({', '.join(texts)})" if source.size > 2 else apply("sub", source, *texts)
    return apply(node.op, source, *texts)


def _is_product_of_halves(node: Scalar) -> bool:
    """True for a uint64 product of two values that fit in 32 bits, as random number generators compute it."""
    return node.op == "mul" and node.dtype is uint64 and all(map(_is_half, node.args))


def _is_half(operand: Expr) -> bool:
    match operand:
        case Const(value):
            return 0 <= value < 2**32
        case Scalar("and", (_, Const(mask))):
            return 0 <= mask < 2**32
        case Scalar("cast", (x,)):
            return x.dtype.is_unsigned and x.dtype.size <= 4
        case Scalar("shr", (_, Const(by))):
            return by >= 32
    return False


def _is_formula(node: Scalar) -> bool:
    """True for a function that CUDA does not have."""
    return node.op not in CONVERSIONS and not has_text(node.op, node.args[-1].dtype)


def _formula(node: Scalar) -> Expr:
    """A function as a formula."""
    operands: list[Expr] = [Local(name, x.dtype) for name, x in zip("xyz", node.args, strict=False)]
    formula = approximate(Scalar(node.op, tuple(operands), node.dtype))
    return substitute(formula, dict(zip(operands, node.args, strict=True)))
