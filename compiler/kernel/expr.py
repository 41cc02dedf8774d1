"""Scalar expressions: what one element of a result is, in terms of elements of buffers.

Expressions are interned: building the same expression twice gives the same object, so equality is identity, a
shared sub-expression is one node of a DAG, and a table keyed by expression finds every use of it. Index
arithmetic is made of the same expressions, with dtype int64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any
from weakref import ReferenceType, _remove_dead_weakref  # type: ignore[attr-defined]

from staticgraph.compiler.graph.dtypes import DType, bool_, int64
from staticgraph.compiler.graph.sizes import AnySize, Size


class _Reference(ReferenceType["Expr"]):
    """A weak reference that knows its key in the table of expressions."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


# A `WeakValueDictionary` is the same, and takes twice as long to look things up and to put them there.
_REFERENCES: dict[tuple[Any, ...], _Reference] = {}


def _forget(reference: _Reference) -> None:
    """Remove an expression that is gone, unless there is one like it again."""
    _remove_dead_weakref(_REFERENCES, reference.key)


class Expr:
    """A scalar of some dtype. Python operators on expressions build `Scalar` expressions."""

    __slots__ = ("children", "dtype", "known", "__weakref__")
    __match_args__: tuple[str, ...] = ()
    dtype: DType
    children: tuple[Expr, ...]  # the expressions that this one is made of
    known: dict[str, Any]  # what was found out about it, which never changes: see kernel/indices/

    def __add__(self, other: Any) -> Expr:
        return self if _is_neutral(self, other, 0) else READ("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return self if _is_neutral(self, other, 0) else READ("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return self if _is_neutral(self, other, 0) else READ("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return READ("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return self if _is_neutral(self, other, 1) else READ("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return self if _is_neutral(self, other, 1) else READ("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return READ("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return READ("div", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return READ("floordiv", self, other)

    def __mod__(self, other: Any) -> Expr:
        return READ("floormod", self, other)

    def __neg__(self) -> Expr:
        return READ("neg", self)

    def __and__(self, other: Any) -> Expr:
        return READ("and", self, other)

    def __or__(self, other: Any) -> Expr:
        return READ("or", self, other)

    def __xor__(self, other: Any) -> Expr:
        return READ("xor", self, other)

    def __invert__(self) -> Expr:
        return READ("invert", self)

    def __lshift__(self, other: Any) -> Expr:
        return READ("shl", self, other)

    def __rshift__(self, other: Any) -> Expr:
        return READ("shr", self, other)

    def __lt__(self, other: Any) -> Expr:
        return READ("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return READ("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return READ("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return READ("ge", self, other)

    def __repr__(self) -> str:
        from_fields = ", ".join(repr(getattr(self, name)) for name in self.__match_args__)
        return f"{type(self).__name__}({from_fields})"


def _unread(*_: Any) -> Any:
    return NotImplemented


def _is_neutral(position: Expr, other: Any, neutral: int) -> bool:
    """Return True for the number that changes nothing, as half of those that are added to positions do."""
    return other.__class__ is int and other == neutral and position.dtype is int64


# Set by kernel/scalar.py to the function that builds a scalar operation: the operators above need it, and it
# needs Expr.
READ: Callable[..., Any] = _unread


def _intern(
    cls: type[Expr], key: tuple[Any, ...], dtype: DType, children: tuple[Expr, ...] = (), **fields: Any
) -> Any:
    key = (cls, *key)  # with names of dtypes, which Python hashes by itself
    reference = _REFERENCES.get(key)
    found = None if reference is None else reference()
    if found is not None:
        return found
    made = object.__new__(cls)
    for name, value in fields.items():
        setattr(made, name, value)
    return _keep(key, made, dtype, children)


def _keep(key: tuple[Any, ...], made: Any, dtype: DType, children: tuple[Expr, ...]) -> Any:
    """Complete an expression that has the fields of its class, and let it be found from now on."""
    made.dtype, made.children, made.known = dtype, children, {}
    reference = _REFERENCES[key] = _Reference(made, _forget)
    reference.key = key
    return made


class Const(Expr):
    """A number of a dtype. Python int, float or bool."""

    __slots__ = ("value",)
    __match_args__ = ("value", "dtype")
    value: int | float | bool

    def __new__(cls, value: int | float | bool, dtype: DType) -> Const:
        if value.__class__ is int and dtype is int64:  # as most are
            key: tuple[Any, ...] = (cls, value, "int64")
            reference = _REFERENCES.get(key)
            found: Any = None if reference is None else reference()
            if found is None:
                found = object.__new__(cls)
                found.value = value
                _keep(key, found, dtype, ())
            return found
        value = bool(value) if dtype is bool_ else int(value) if dtype.is_integer else float(value)
        if dtype is int64:
            return Const(value, dtype)
        # 0.0 and -0.0 are equal and NaN is not equal to itself, hence the sign and the text in the key.
        text = repr(value) if isinstance(value, float) and not math.isfinite(value) else value
        return _intern(cls, (text, math.copysign(1, value), dtype.name), dtype, value=value)


class ScalarParameter(Const):
    """A number that the caller gives, in a buffer of one element without axes.

    What decides by numbers takes it for a constant like any other: `value` stands in for those that callers
    give, none of which is 0 or 1.
    """

    __slots__ = ("buffer",)
    __match_args__ = ("buffer", "dtype")
    buffer: str

    def __new__(cls, buffer: str, dtype: DType) -> ScalarParameter:
        return _intern(cls, (buffer, dtype.name), dtype, value=0.7, buffer=buffer)


class Index(Expr):
    """The variable of a loop: 0, 1, ..., extent - 1. Of dtype int64."""

    __slots__ = ("name", "extent")
    __match_args__ = ("name", "extent")
    name: str
    extent: AnySize

    def __new__(cls, name: str, extent: AnySize) -> Index:
        return _intern(cls, (name, extent), int64, name=name, extent=extent)


class Extent(Expr):
    """An open size as a number. Of dtype int64."""

    __slots__ = ("size",)
    __match_args__ = ("size",)
    size: Size

    def __new__(cls, size: Size) -> Extent:
        return _intern(cls, (size,), int64, size=size)


class Local(Expr):
    """A named value of the kernel: an accumulator, or a shared sub-expression."""

    __slots__ = ("name",)
    __match_args__ = ("name", "dtype")
    name: str

    def __new__(cls, name: str, dtype: DType) -> Local:
        return _intern(cls, (name, dtype.name), dtype, name=name)


class Load(Expr):
    """The element of a buffer at a position: one int64 expression per axis of the buffer."""

    __slots__ = ("buffer", "at")
    __match_args__ = ("buffer", "at", "dtype")
    buffer: str
    at: tuple[Expr, ...]

    def __new__(cls, buffer: str, at: tuple[Expr, ...], dtype: DType) -> Load:
        key = (cls, buffer, at, dtype.name)
        reference = _REFERENCES.get(key)
        found: Any = None if reference is None else reference()
        if found is None:
            found = object.__new__(cls)
            found.buffer, found.at = buffer, at
            _keep(key, found, dtype, at)
        return found


class Scalar(Expr):
    """A scalar primitive (`kernel/scalar.py`) applied to arguments."""

    __slots__ = ("op", "args")
    __match_args__ = ("op", "args", "dtype")
    op: str
    args: tuple[Expr, ...]

    def __new__(cls, op: str, args: tuple[Expr, ...], dtype: DType) -> Scalar:
        key = (cls, op, args, dtype.name)
        reference = _REFERENCES.get(key)  # as in `_intern`, which most expressions need not pass
        found: Any = None if reference is None else reference()
        if found is None:
            found = object.__new__(cls)
            found.op, found.args = op, args
            _keep(key, found, dtype, args)
        return found


class Lookup(Expr):
    """The number of a short table at the position that the low bits of `index` are.

    `table`: as many numbers as the processor can pick from in one instruction, a power of two.
    """

    __slots__ = ("table", "index")
    __match_args__ = ("table", "index", "dtype")
    table: tuple[float, ...]
    index: Expr

    def __new__(cls, table: tuple[float, ...], index: Expr, dtype: DType) -> Lookup:
        return _intern(cls, (table, index, dtype.name), dtype, (index,), table=table, index=index)


class Reduce(Expr):
    """`value` combined over all values of the indices `axes`. `place` turns it into a loop that accumulates.

    `combine` names a scalar primitive: add, mul, maximum, minimum, and, or. Its identity is
    `identity(combine, dtype)`.
    """

    __slots__ = ("axes", "combine", "value")
    __match_args__ = ("axes", "combine", "value")
    axes: tuple[Index, ...]
    combine: str
    value: Expr

    def __new__(cls, axes: tuple[Index, ...], combine: str, value: Expr) -> Reduce:
        key = (axes, combine, value)
        return _intern(cls, key, value.dtype, (value,), axes=axes, combine=combine, value=value)


def number(value: int | float | bool | Size, dtype: DType) -> Expr:
    """A number of a dtype. An open size is known when the kernel runs."""
    if not isinstance(value, Size):
        return Const(value, dtype)
    return Extent(value) if dtype is int64 else Scalar("cast", (Extent(value),), dtype)


def identity(combine: str, dtype: DType) -> Const:
    """The neutral element of a combiner: 0 for add, -inf (or the least integer) for maximum, and so on."""
    match combine:
        case "add" | "or":
            return Const(0, dtype)
        case "mul" | "and":
            return Const(1, dtype)
        case "maximum":
            return Const(-math.inf if dtype.is_floating else dtype.min, dtype)
        case "minimum":
            return Const(math.inf if dtype.is_floating else dtype.max, dtype)
    raise ValueError(f"{combine} is not a combiner")


def walk(*roots: Expr) -> list[Expr]:
    """Every expression below `roots`, each once, arguments before users."""
    if len(roots) == 1:
        (root,) = roots
        return [*(root.known["below"] if "below" in root.known else _below(root)), root]
    found: dict[Expr, None] = {}
    for root in roots:
        if root not in found:
            if root.children:
                found |= root.known["below"] if "below" in root.known else _below(root)
            found[root] = None
    return list(found)


def _below(root: Expr) -> dict[Expr, None]:
    """Every expression below `root`, in the order of `walk`: kept, as most are walked again and again."""
    found: dict[Expr, None] = {}
    stack = [*reversed(root.children)]
    while stack:
        expr, waiting = stack[-1], len(stack)
        if expr not in found and expr.children:
            if "below" in expr.known:
                found |= expr.known["below"]
            else:
                for child in reversed(expr.children):
                    if child not in found:
                        stack.append(child)
        if len(stack) == waiting:
            found[stack.pop()] = None
    root.known["below"] = found
    return found


def loads(root: Expr) -> list[Load]:
    """Every load in `root`, each once: kept, too."""
    if "loads" not in root.known:
        root.known["loads"] = [e for e in walk(root) if isinstance(e, Load)]
    found: list[Load] = root.known["loads"]
    return found


def unknown(what: str, root: Expr) -> list[Expr]:
    """Every expression below `root` without `known[what]`, arguments before users."""
    done: dict[Expr, None] = {}
    stack = [root]
    while stack:
        expr = stack[-1]
        if what in expr.known or expr in done:
            stack.pop()
            continue
        waiting = len(stack)
        for child in expr.children:
            if what not in child.known and child not in done:
                stack.append(child)
        if len(stack) == waiting:
            done[stack.pop()] = None
    return list(done)


def missing(root: Expr, known: Container[Any], operands: Callable[[Expr], Sequence[Expr]]) -> list[Expr]:
    """Return what must become known before `root`, and `root` itself, each expression after its operands."""
    found: dict[Expr, None] = {}
    stack = [root]
    while stack:
        node, waiting = stack[-1], len(stack)
        if node not in found and node not in known:
            for operand in reversed(operands(node)):
                if operand not in found and operand not in known:
                    stack.append(operand)
        if len(stack) == waiting:
            stack.pop()
            if node not in known:
                found[node] = None
    return list(found)


def rebuild(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    """`expr` with other children."""
    if isinstance(expr, Scalar):
        return Scalar(expr.op, children, expr.dtype)
    if isinstance(expr, Load):
        return Load(expr.buffer, children, expr.dtype)
    if isinstance(expr, Reduce):
        return Reduce(expr.axes, expr.combine, children[0])
    if isinstance(expr, Lookup):
        return Lookup(expr.table, children[0], expr.dtype)
    return expr


def substitute(expr: Expr, table: dict[Expr, Expr]) -> Expr:
    """`expr` with every expression in `table` replaced. Replacements are not searched again."""
    if not table:
        return expr
    done = dict(table)
    for node in walk(expr):
        if node not in done:
            children = tuple(map(done.__getitem__, node.children))
            done[node] = node if children == node.children else rebuild(node, children)
    return done[expr]


def transform(expr: Expr, change: Callable[[Expr], Expr], done: dict[Expr, Expr] | None = None) -> Expr:
    """`expr` with `change` applied to every expression in it, arguments before users.

    Args:
        expr: The expression.
        change: A function of an expression whose arguments have been changed already.
        done: The results by expression, if those of others are to be used again.
    """
    done = {} if done is None else done
    for node in walk(expr):
        if node not in done:
            children = tuple(map(done.__getitem__, node.children))
            done[node] = change(node if children == node.children else rebuild(node, children))
    return done[expr]


def outermost_reductions(expr: Expr) -> list[Reduce]:
    """The reductions in `expr` that are not part of another one."""
    inner = {e for r in walk(expr) if isinstance(r, Reduce) for e in walk(r.value)}
    return [e for e in walk(expr) if isinstance(e, Reduce) and e not in inner]


def free_indices(expr: Expr) -> frozenset[Index]:
    """The loop variables that `expr` reads and does not bind itself."""
    if "free" not in expr.known:
        for node in unknown("free", expr):
            node.known["free"] = _free(node)
    found: frozenset[Index] = expr.known["free"]
    return found


def _free(node: Expr) -> frozenset[Index]:
    if isinstance(node, Index):
        return frozenset((node,))
    if not node.children:
        return frozenset()
    found: frozenset[Index] = frozenset()
    for child in node.children:
        free = child.known["free"]
        found = found | free if found and free else found or free
    return found.difference(node.axes) if isinstance(node, Reduce) else found


def subtracts_from_product(node: Scalar) -> bool:
    """True for a floating-point difference whose left operand is a product.

    Its right operand may be the maximum of such products, as in a softmax. Then the product must be rounded
    as in that maximum, so it must not be fused with the subtraction.
    """
    left = node.args[0]
    return node.op == "sub" and node.dtype.is_floating and isinstance(left, Scalar) and left.op == "mul"
