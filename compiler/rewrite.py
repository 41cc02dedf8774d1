"""Rewriting: rules, which are two patterns that mean the same, applied until none fits. `rules.py` has them.

Patterns are terms with variables, built by using ops on them, so that rules are written in the language of
the graph.

    x, y = variables("x y")        any value
    c, d = numbers("c d")          a constant with one number in all its elements
    p, q = attributes("p q")       the value of an attribute

`multiply(x, 1)`, or `x * 1`, is a pattern; matching it against a value binds `x`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Flag
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

from staticgraph.compiler.graph.builder import number, plain
from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import OPS, OpDef, Role, ops, recording
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.sizes import same_shape
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
    """Attribute of a right side, computed from what the left side bound."""

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


class Inexact(Flag):
    """Degree to which a rule may change results: in the last digits, or worse."""

    NOTHING = 0
    ROUNDING = 1  # as if the arithmetic were done in another order
    IMPROVES = 2  # nearer to the true value; an overflow may become a number
    NONFINITE = 4  # assumes that no NaN and no infinity appears


EXACT, ROUNDING, IMPROVES, NONFINITE = Inexact.NOTHING, Inexact.ROUNDING, Inexact.IMPROVES, Inexact.NONFINITE
MATH = {"strict": EXACT, "relaxed": ROUNDING | IMPROVES, "fast": ROUNDING | IMPROVES | NONFINITE}


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """`left` becomes `right` where `when` holds, for the bound variables given by name."""

    name: str
    left: Use
    given_right: Pattern | Callable[[], Any]
    inexact: Inexact
    when: Callable[..., bool] | None
    single_use: bool
    where: Provenance | None
    heads: tuple[OpDef | None, ...]  # the ops that the inputs of the root must be made by

    @property
    def right(self) -> Pattern:
        """The pattern that takes the place of `left`."""
        right = self.given_right
        return right if isinstance(right, Pattern) else as_pattern(right())

    def apply(self, value: Value, uses: Callable[[Value], int]) -> Value | None:
        """Return the replacement of `value`, of the same type, or None if the rule does not apply."""
        for bound in match(self.left, value, {}):
            if self.when is not None and not self.when(**bound):
                continue
            if self.single_use and not _used_once(self.left, value, bound, uses):
                continue
            made = self._build(value, bound)
            if made is not None and made is not value:
                return made
        return None

    def may_match(self, node: Node) -> bool:
        """A glance at the inputs, which spares most values the search for a match."""
        heads, inputs = self.heads, node.inputs
        if len(heads) != len(inputs):
            return False
        for order in (inputs, inputs[::-1]) if node.op.commutes else (inputs,):
            for wanted, value in zip(heads, order, strict=True):
                if wanted is not None and wanted is not value.node.op:
                    break
            else:
                return True
        return False

    def _build(self, value: Value, bound: Bindings) -> Value | None:
        graph = value.recorder
        with graph.at(value.node.where), recording(graph):
            made = build(self.right, bound)
            if not isinstance(made, Value):
                made = graph.constant(made, value.dtype)
            if made.dtype is not value.dtype:
                return None
            return made if same_shape(made.shape, value.shape) else ops.broadcast_to(made, shape=value.shape)

    def __repr__(self) -> str:
        return f"{self.name}: {self.left!r} -> {self.right!r}"


def _used_once(pattern: Use, value: Value, bound: Bindings, uses: Callable[[Value], int]) -> bool:
    """Return True if nothing else uses the inner nodes of a match."""
    return all(
        uses(v) <= 1 and _used_once(p, v, bound, uses)
        for p in pattern.inputs
        if isinstance(p, Use)
        for v in value.node.inputs  # in either order, where the op commutes
        if next(match(p, v, bound), None) is not None
    )


def rule(
    name: str,
    left: Any,
    right: Any,
    inexact: Inexact = EXACT,
    when: Callable[..., bool] | None = None,
    single_use: bool = False,
    where: Provenance | None = None,
) -> Rule:
    """A rule. `when` gets the bound variables, numbers and attributes by name.

    `right` may be a function that makes it when the rule applies: if it has ops that few graphs have.
    `single_use`: only where nothing else uses the matched inner nodes, so that no work is done twice.
    """
    made = right if callable(right) else as_pattern(right)
    return Rule(name, left, made, inexact, when, single_use, where, tuple(map(_head, left.inputs)))


_head, _maker, _single_use = attrgetter("op"), attrgetter("node.op"), attrgetter("single_use")

_USUAL_OPS = 4  # a node and its inputs: what has more is rare, and there is no end of kinds of it


class RuleSet:
    """Rules, found by the op at the root of their left side.

    A table gives them under this op, as a function that makes them when a graph has the op: most graphs have
    few of the ops that there are rules for.
    """

    def __init__(self, *rules: Rule, **by_op: Callable[[], Iterable[Rule]]) -> None:
        self._rules: dict[str, list[Rule]] = {}
        for each in rules:
            self._rules.setdefault(each.left.op.name, []).append(each)
        self._by_op = by_op
        self._made: dict[str, tuple[Rule, ...]] = {}
        self._fitting: dict[tuple[OpDef, ...], tuple[Rule, ...]] = {}  # by ops of a node and its inputs

    def of(self, op: str) -> tuple[Rule, ...]:
        """Return the rules of one op, by its name."""
        if op not in self._made:
            made: dict[str, Rule] = {}
            for each in (*self._rules.get(op, ()), *(self._by_op[op]() if op in self._by_op else ())):
                assert each.left.op.name == op, f"{op} is not the root of {each}"
                if each.name in made:
                    raise ValueError(f"two rules are called {each.name}")
                made[each.name] = each
            self._made[op] = tuple(made.values())
        return self._made[op]

    def fitting(self, node: Node) -> tuple[Rule, ...]:
        """Return the rules that may match at a node, by its op and those of its inputs."""
        key = (node.op, *map(_maker, node.inputs))
        found = self._fitting.get(key)
        if found is None:
            found = tuple([each for each in self.of(node.op.name) if each.may_match(node)])
            if len(key) <= _USUAL_OPS:
                self._fitting[key] = found
        return found

    def __iter__(self) -> Iterator[Rule]:
        for op in self.roots:
            yield from self.of(op)

    @property
    def roots(self) -> Iterable[str]:
        """The ops at the roots of left sides, by name."""
        return {**self._rules, **self._by_op}

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet.joined((self, other))

    def allowed(self, inexact: Inexact) -> RuleSet:
        """The rules that change no more than `inexact`."""
        return RuleSet.joined((self,), inexact)

    @classmethod
    def joined(cls, sets: Sequence[RuleSet], inexact: Inexact = ~EXACT) -> RuleSet:
        """The rules of several tables that change no more than `inexact`."""
        by_op: dict[str, list[RuleSet]] = {}
        for each in sets:
            for op in each.roots:
                by_op.setdefault(op, []).append(each)
        return cls(**{op: partial(_rules_of, op, found, inexact) for op, found in by_op.items()})


def _rules_of(op: str, sets: Sequence[RuleSet], inexact: Inexact) -> list[Rule]:
    return [rule for each in sets for rule in each.of(op) if rule.inexact in inexact]


ROUNDS = 12  # walks over the whole Function; each usually leaves nothing for the next but one
STEPS = 40  # rules applied one after the other at one node

Trace = Callable[[Rule, Value, Value], None]


def rewrite(function: Function, rules: RuleSet, trace: Trace | None = None) -> Function:
    """`function` with `rules` applied until none fires.
    `trace(rule, before, after)` is called for each that does.
    """
    settled: set[Value] = set()  # at which no rule will ever fire
    for _ in range(ROUNDS):
        before, function = function, _walk(function, rules, trace, settled)
        if function.results == before.results:
            break
    return function


def _walk(function: Function, rules: RuleSet, trace: Trace | None, settled: set[Value]) -> Function:
    """One walk over all nodes, inputs before users."""
    counts = Counter([v for node in function.nodes for v in node.inputs])
    counts.update(function.results)
    # A node that was rebuilt has no count of its own yet: it is used as often as the one that it replaces.
    uses: dict[Value, int] = dict(counts)

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> Value | tuple[Value, ...]:
        made: tuple[Value, ...] = node.outputs
        if inputs == node.inputs:
            if len(made) == 1 and made[0] in settled:
                return made
        else:
            made = node.outputs[0].recorder.again(node, inputs).outputs
        if len(made) == 1:
            made = (_settle(made[0], rules, lambda v: uses.get(v, 1), trace, settled),)
        for old, new in zip(node.outputs, made, strict=True):
            uses.setdefault(new, counts[old])
        return made

    return transform(function, rebuild)


def _settle(
    value: Value,
    rules: RuleSet,
    uses: Callable[[Value], int],
    trace: Trace | None,
    settled: set[Value],
) -> Value:
    """`value` after all rules that fire at its root."""
    for _ in range(STEPS):
        if value in settled:
            break
        candidates = rules.fitting(value.node)
        for each in candidates:
            better = each.apply(value, uses)
            if better is not None:
                if trace is not None:
                    trace(each, value, better)
                value = better
                break
        else:
            # Values do not change, but their uses do.
            if True not in map(_single_use, candidates):
                settled.add(value)
            break
    return value
