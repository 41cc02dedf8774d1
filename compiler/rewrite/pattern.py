"""Patterns: terms with variables, built by using ops on
them, so that rules are written in the language of the graph.

    x, y = variables("x y")        any value
    c, d = numbers("c d")          a constant with one number in all its elements
    p, q = attributes("p q")       the value of an attribute

`multiply(x, 1)`, or `x * 1`, is a pattern; matching it against a value binds `x`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from staticgraph.compiler.graph.builder import number, plain
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import OPS, OpDef, Role
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.support.dataclass import dataclass

Bindings = dict[str, Any]


class Pattern(Operators):
    """A term. Ops used on patterns make patterns.

    `op` is the op of all values that a pattern can match; None if they may have any.
    """

    __slots__ = ()
    recorder: ClassVar[PatternRecorder]
    op: OpDef | None = None


@dataclass(frozen=True, slots=True)
class PatternVariable(Pattern):
    """Any value; the same one wherever the name appears."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Number(Pattern):
    """A constant all of whose elements are one number."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Exactly(Pattern):
    """A constant all of whose elements are this number."""

    value: float

    def __repr__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class Attribute:
    """Any value of an attribute."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Compute:
    """On a right side: an attribute computed from what was bound."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.function.__name__}({', '.join(self.names)})"


@dataclass(frozen=True, slots=True)
class Use(Pattern):
    """An op used on patterns. Attributes that are not written have their defaults."""

    op: OpDef
    inputs: tuple[Pattern, ...]
    attrs: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        shown = [*map(repr, self.inputs), *(f"{k}={v!r}" for k, v in self.attrs)]
        return f"{self.op.name}({', '.join(shown)})"


class PatternRecorder:
    """Makes patterns where a graph would make operations."""

    def record(self, op: OpDef, values: dict[str, Any], name: str | None = None) -> Use:
        inputs: list[Pattern] = []
        attrs: list[tuple[str, Any]] = []
        for param in op.params:
            value = values[param.name]
            if param.role is Role.TENSORS:
                inputs += map(as_pattern, value)
            elif param.role is Role.TENSOR:
                inputs.append(value if isinstance(value, Pattern) else Exactly(value))
            else:
                attrs.append((param.name, value if isinstance(value, (Attribute, Compute)) else plain(value)))
        return Use(op, tuple(inputs), tuple(attrs))


Pattern.recorder = PatternRecorder()
Number.op = Exactly.op = OPS["constant"]


def as_pattern(item: Any) -> Pattern:
    """`item`, with a Python number standing for exactly that number."""
    return item if isinstance(item, Pattern) else Exactly(item)


def variables(names: str) -> list[PatternVariable]:
    """Variables by names with blanks between them."""
    return [PatternVariable(name) for name in names.split()]


def numbers(names: str) -> list[Number]:
    """Numbers by names with blanks between them."""
    return [Number(name) for name in names.split()]


def attributes(names: str) -> list[Attribute]:
    """Attributes by names with blanks between them."""
    return [Attribute(name) for name in names.split()]


def compute(function: Callable[..., Any], *bound: PatternVariable | Number | Attribute) -> Compute:
    """An attribute of a right side: `function` of what the given names are bound to."""
    return Compute(function, tuple(b.name for b in bound))


def match(pattern: Pattern, value: Value, bound: Bindings) -> Iterator[Bindings]:
    """Every way to bind the variables so that `pattern` is `value`."""
    match pattern:
        case PatternVariable(name) if name in bound:
            if bound[name] is value:
                yield bound
        case PatternVariable(name):
            yield {**bound, name: value}
        case Number(name):
            if number(value) is not None and bound.get(name, value) is value:
                yield {**bound, name: value}
        case Exactly(wanted):
            found = number(value)
            if found == wanted and (found or math.copysign(1.0, found) == math.copysign(1.0, wanted)):
                yield bound  # -0 is another number than 0
        case Use(op, inputs, attrs):
            if value.node.op is op and len(value.node.inputs) == len(inputs):
                yield from _match_use(inputs, attrs, value, bound)


def _match_use(
    inputs: tuple[Pattern, ...], attrs: tuple[tuple[str, Any], ...], value: Value, bound: Bindings
) -> Iterator[Bindings]:
    node = value.node
    for name, wanted in attrs:
        found = node.attrs[name]
        if isinstance(wanted, Attribute):
            if bound.get(wanted.name, found) != found:
                return
            bound = {**bound, wanted.name: found}
        elif wanted != found:
            return
    orders = [node.inputs]
    if node.op.commutes and len(node.inputs) == 2 and node.inputs[0] is not node.inputs[1]:
        orders.append(node.inputs[::-1])
    for order in orders:
        yield from _match_all(inputs, order, bound)


def _match_all(
    patterns: tuple[Pattern, ...], values: tuple[Value, ...], bound: Bindings
) -> Iterator[Bindings]:
    if not patterns:
        yield bound
        return
    for first in match(patterns[0], values[0], bound):
        yield from _match_all(patterns[1:], values[1:], first)


def build(pattern: Pattern, bound: Bindings) -> Any:
    """The value, or the Python number, that `pattern` stands for under `bound`."""
    match pattern:
        case PatternVariable(name) | Number(name):
            return bound[name]
        case Exactly(value):
            return value
        case Use(op, inputs, attrs):
            made = [build(p, bound) for p in inputs]
            chosen = {k: _attribute(v, bound) for k, v in attrs}
            lists = [p for p in op.params if p.role is Role.TENSORS]
            return op(made, **chosen) if lists else op(*made, **chosen)
    raise TypeError(f"{pattern!r} is not a pattern")


def _attribute(value: Any, bound: Bindings) -> Any:
    match value:
        case Attribute(name):
            return bound[name]
        case Compute(function, names):
            return function(*(bound[n] for n in names))
    return value


def variables_of(pattern: Pattern) -> dict[str, Pattern]:
    """The variables and numbers in a pattern, by name."""
    match pattern:
        case PatternVariable(name) | Number(name):
            return {name: pattern}
        case Use(_, inputs, _):
            return {k: v for p in inputs for k, v in variables_of(p).items()}
    return {}
