"""Every rule of every rule set, tested by what the rule itself says. No rule is named here."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from pages import rules_page
from staticgraph.compiler import ops
from staticgraph.compiler import rules as rules_file
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import ANY, DType, bool_, float32, float64, int32, uint8
from staticgraph.compiler.graph.errors import GraphError
from staticgraph.compiler.graph.function import Function, Value, toposort
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import Role, recording
from staticgraph.compiler.passes.simplify import TABLES, every_rule
from staticgraph.compiler.rewrite import (
    IMPROVES,
    MATH,
    NONFINITE,
    ROUNDING,
    Attribute,
    Number,
    Pattern,
    PatternVariable,
    Rule,
    RuleSet,
    Use,
    build,
    rewrite,
    variables_of,
)
from staticgraph.compiler.rules import (
    algebra,
    broadcasts,
    exponentials,
    logic,
    movement,
    normalization,
    stability,
)

RULE_SETS = {
    "algebra": algebra,
    "broadcasts": broadcasts,
    "exponentials": exponentials,
    "logic": logic,
    "movement": movement,
    "normalization": normalization,
    "stability": stability,
}
RULES = [r for rules in RULE_SETS.values() for r in rules]
DTYPES = (float32, float64, int32, uint8, bool_)
SHAPES = ((2, 3), (1,), (2, 1), (), (0, 3), (3, 1, 1), (1, 1))
# What an attribute of a pattern may be, by the parameter where it stands.
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "perm": (None, (0,), (1, 0), (0, 1), (2, 0, 1), ()),
    "shape": ((-1,), (3, 2), (2, 3), (1, 6), (2, 2, 3), (), (1,), (1, 1), (0, 3), (3, -1), (4, 2, 3)),
    "paddings": ((), ((0, 0),), ((0, 0), (0, 0)), ((0, 1), (0, 0)), ((0, 0), (0, 0), (0, 0))),
    "axis": (None, 0, 1, -1, (0, 1), (1,)),
    "dtype": DTYPES,
}
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)


class Case:
    """A way to bind a rule's names: its left side as a value, and arrays for the variables."""

    def __init__(
        self, rule: Rule, dtype: DType, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any], seed: int
    ):
        rng = np.random.default_rng(seed)
        self.builder = Builder()
        self.bound: dict[str, Any] = dict(attrs)
        self.arguments: dict[Value, np.ndarray] = {}
        for name, leaf in variables_of(rule.left).items():
            if isinstance(leaf, Number):
                number = rng.choice([1, 2, 3] if not dtype.is_floating else [-2.0, 0.5, 3.0])
                self.bound[name] = self.builder.constant(number, dtype)
            else:
                kind = bool_ if name == "p" and dtype is not bool_ else dtype
                param = self.builder.parameter(name, kind, shapes[name])
                self.bound[name] = param
                self.arguments[param] = draw(kind, shapes[name], rng)
        with recording(self.builder):
            self.left = build(rule.left, self.bound)

    def values(self, *results: Value) -> list[np.ndarray]:
        return interpret(Function(tuple(self.arguments), results), self.arguments)


def draw(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype is bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        return rng.integers(0 if dtype.is_unsigned else -5, 6, shape).astype(dtype.numpy)
    return rng.uniform(-2, 2, shape).astype(dtype.numpy)


def attributes_of(pattern: Pattern) -> dict[str, str]:
    """The attributes of a pattern: the parameter that each stands for."""
    if not isinstance(pattern, Use):
        return {}
    mine = {v.name: k for k, v in pattern.attrs if isinstance(v, Attribute)}
    return mine | {k: v for p in pattern.inputs for k, v in attributes_of(p).items()}


def allows(pattern: Pattern, dtype: DType) -> bool:
    """Return True if all ops of a pattern take operands of this dtype, by the op's main letter."""
    if not isinstance(pattern, Use):
        return True
    params = [p for p in pattern.op.params if p.role in (Role.TENSOR, Role.TENSORS)]
    mine = all(p.var != "T" or dtype in pattern.op.dtypes.get("T", ANY) for p in params)
    return mine and all(allows(p, dtype) for p in pattern.inputs)


@cache
def cases(rule: Rule) -> list[Case]:
    """All cases of a rule, made once for all tests of it: they only add to what a case has recorded."""
    return list(combinations(rule))


def combinations(rule: Rule) -> Iterator[Case]:
    """All shapes and attributes, equal and broadcast shapes of several variables, every dtype allowed."""
    names = [n for n, p in variables_of(rule.left).items() if isinstance(p, PatternVariable)]
    some = [SHAPES[i:] + SHAPES[:i] for i in range(len(names))]
    together = [*zip(*some, strict=True), *([s] * len(names) for s in SHAPES)]
    asked = attributes_of(rule.left)
    chosen = list(itertools.product(*(ATTRIBUTES[p] for p in asked.values())))
    for dtype in DTYPES:
        if not allows(rule.left, dtype):
            continue
        for seed, (shapes, attrs) in enumerate(itertools.product(together, chosen)):
            try:
                yield Case(
                    rule,
                    dtype,
                    dict(zip(names, shapes, strict=True)),
                    dict(zip(asked, attrs, strict=True)),
                    seed,
                )
            except GraphError:  # such a shape does not go with such an attribute
                continue


def applied(rule: Rule, case: Case) -> Value | None:
    return rule.apply(case.left, lambda value: 1)


def test_names_are_unique():
    assert not [name for name, count in Counter(r.name for r in RULES).items() if count > 1]
    with pytest.raises(ValueError, match="two rules are called"):
        RuleSet(RULES[0], RULES[0]).of(RULES[0].left.op.name)


@each_rule
def test_right_side_has_no_names_of_its_own(rule: Rule):
    assert variables_of(rule.right).keys() <= variables_of(rule.left).keys()


@pytest.mark.takes_long
@each_rule
def test_own_left_side_fires(rule: Rule):
    assert any(applied(rule, case) is not None for case in cases(rule))


@pytest.mark.takes_long
@each_rule
def test_both_sides_agree(rule: Rule):
    """Same type, same value; where the rule assumes finite numbers, only where the left side is finite."""
    for case in cases(rule):
        right = applied(rule, case)
        if right is None:
            continue
        assert right.type == case.left.type
        wanted, found = case.values(case.left, right)
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        assert_agree(rule, case.left.dtype, wanted, found)


def assert_agree(rule: Rule, dtype: DType, wanted: np.ndarray, found: np.ndarray) -> None:
    if not rule.inexact or not dtype.is_floating:
        np.testing.assert_array_equal(found, wanted)
        return
    if NONFINITE in rule.inexact or IMPROVES in rule.inexact:
        finite = np.isfinite(wanted)
        wanted, found = wanted[finite], found[finite]
    tolerance = 64 * np.finfo(dtype.numpy).eps
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_the_page_lists_the_rules_that_improve_results():
    assert rules_page.PAGE.read_text() == rules_page.page(), "run python tools/pages/rules_page.py"
    improving = [r for r in RULES if IMPROVES in r.inexact and NONFINITE not in r.inexact]
    assert all(f"| {r.name} | `{r.left!r}` |" in rules_page.table() for r in improving)


def test_rules_that_improve_results_can_be_left_out():
    """Together: by a session, for a part of a program, or from outside."""
    x = sg.placeholder(sg.float32, [])
    formulas = [sg.log(sg.exp(x)), sg.sqrt(sg.square(x)), sg.log(1.0 + x * 1e-12), 0.0 - x * 0.0]
    with sg.Session() as improved, sg.options(improve=False), sg.Session() as written:
        plain = [float(value) for value in written.run(formulas, {x: 1e20})]
        better = [float(value) for value in improved.run(formulas, {x: 1e20})]
        assert plain[:2] == [np.inf, np.inf]
        np.testing.assert_allclose(better[:2], 1e20)
    assert not any(IMPROVES in rule.inexact for rule in every_rule(improve=False))


@each_rule
def test_right_side_adds_no_nodes(rule: Rule):
    """Except a broadcast, where the left side was larger than all that is left of it.

    Changes of sign are free, and a power is more work than a few products.
    """
    effort = {"broadcast_to": 0, "constant": 0, "negative": 0, "pow": 4}
    for case in cases(rule):
        right = applied(rule, case)
        if right is not None:
            made, given = (sum(effort.get(n.op.name, 1) for n in toposort([v])) for v in (right, case.left))
            assert made <= given


@each_rule
def test_fires_inside_a_function_and_comes_to_rest(rule: Rule):
    """A second rewriting with all rules changes nothing."""
    everything = sum(RULE_SETS.values(), RuleSet())
    for case in itertools.islice(cases(rule), 0, None, 5):
        function = Function(tuple(case.arguments), (case.left,))
        once = rewrite(function, everything)
        assert rewrite(once, everything).results == once.results


@pytest.mark.parametrize("rule", [r for r in RULES if r.single_use], ids=lambda r: r.name)
def test_single_use(rule: Rule):
    """A rule that would repeat work does not fire where an inner node is used elsewhere."""
    case = next(c for c in cases(rule) if applied(rule, c) is not None)
    inner = next(v for v in case.left.node.inputs if v.node.op.name not in ("parameter", "constant"))
    params = tuple(case.arguments)
    only = RuleSet(rule)
    assert rewrite(Function(params, (case.left,)), only).results != (case.left,)
    assert rewrite(Function(params, (case.left, inner)), only).results == (case.left, inner)


def test_math_modes():
    """Strict changes nothing, relaxed last digits and overflows only, fast assumes finite numbers."""
    rules = algebra + stability + exponentials
    modes = {mode: {r.name for r in rules.allowed(inexact)} for mode, inexact in MATH.items()}
    assert modes["strict"] < modes["relaxed"] < modes["fast"]
    assert modes["fast"] == {r.name for r in rules}
    for r in rules:
        assert (r.name in modes["strict"]) == (not r.inexact)
        assert (r.name in modes["relaxed"]) == (NONFINITE not in r.inexact)


@pytest.mark.parametrize(("mode", "expected"), [("strict", False), ("relaxed", False), ("fast", True)])
def test_infinities_cancel_in_fast_mode_only(mode: str, expected: bool):
    x = Builder().parameter("x", float32, (2,))
    function = rewrite(Function((x,), (x - x,)), algebra.allowed(MATH[mode]))
    assert (function.results[0].constant is not None) == expected


def test_trace_tells_what_fired():
    x = Builder().parameter("x", float32, (2,))
    seen: list[tuple[str, Value, Value]] = []
    function = rewrite(
        Function((x,), (ops.negative(ops.negative(x)) * 1,)),
        algebra,
        lambda rule, before, after: seen.append((rule.name, before, after)),
    )
    assert function.results == (x,)
    assert [name for name, _, _ in seen] == ["negate twice", "multiply by one"]
    assert all(before is not after for _, before, after in seen)


def test_a_division_by_a_tiny_number_stays_one():
    """1 / c must not overflow where x / c does not."""
    for dtype, c in (("float32", 1e-39), ("float16", 1e-5)):
        x = Builder().parameter("x", dtype, (1,))
        function = Function((x,), (ops.realdiv(x, c),))
        before = interpret(function, {x: np.array([c], dtype)})
        after = interpret(rewrite(function, algebra.allowed(ROUNDING | IMPROVES)), {x: np.array([c], dtype)})
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("c, left", [(20.0, "realdiv"), (8.0, "multiply")])
def test_a_number_divides_unless_its_inverse_is_exact(shape: tuple[int, ...], c: float, left: str):
    x = Builder().parameter("x", float32, shape)
    function = rewrite(Function((x,), (ops.realdiv(x, c),)), algebra.allowed(ROUNDING | IMPROVES))
    assert function.results[0].node.op.name == left


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [sg.float16, sg.float32, sg.float64])
def test_a_quotient_by_a_constant_is_that_of_numpy(dtype: sg.DType):
    """41 * (1 / 41) is below 1, so that its floor was 0; and 1 - 41 * (1 / 41), rounded once, is no root."""
    x = np.array([41, 47, 49, 55, 61, 82, 83, 97, 98, 103], dtype.as_numpy_dtype)
    for c in x.tolist():
        given = sg.placeholder(dtype, [None])
        quotient = given / c
        made = [quotient, sg.floor(quotient), sg.sqrt(1.0 - quotient)]
        with sg.Session() as session:
            found = session.run(made, {given: x[x <= c]})
        numpy = x[x <= c] / np.array(c, x.dtype)
        np.testing.assert_array_equal(found[0], numpy)
        np.testing.assert_array_equal(found[1], np.floor(numpy))
        assert found[2][-1] >= 0 and not np.isnan(found[2]).any()


def test_provenance_is_carried_over():
    """A node that replaces another comes from the user's line that made the other."""
    x = Builder().parameter("x", float32, (2,))
    with x.recorder.at("the user's line"):
        y = ops.log(x + 1)
    made = rewrite(Function((x,), (y,)), stability).results[0]
    assert made.node.op.name == "log1p"
    assert made.node.where == "the user's line"


def test_a_rule_looks_at_a_value_once(monkeypatch: pytest.MonkeyPatch):
    """Though a second walk sees whether anything is left to do."""
    looks: Counter = Counter()
    apply = Rule.apply

    def counted(rule: Rule, value: Value, *rest: Any) -> Value | None:
        looks[rule.name, value] += not rule.single_use
        return apply(rule, value, *rest)

    monkeypatch.setattr(Rule, "apply", counted)
    x = Builder().parameter("x", "float32", (2, 3))
    function = Function((x,), (ops.sqrt(ops.negative(ops.negative(x))) + ops.abs(x), ops.exp(x - 1.0)))
    assert rewrite(function, algebra).results != function.results
    assert set(looks.values()) == {1}


def test_the_pass_knows_the_ops_of_each_table():
    """The file of rules is imported for graphs that have an op at the root of one."""
    found = {
        name: " ".join(sorted({rule.left.op.name for rule in table}))
        for name, table in vars(rules_file).items()
        if isinstance(table, RuleSet)
    }
    assert found == TABLES
    assert {r.name for r in every_rule()} == {r.name for r in RULES if NONFINITE not in r.inexact}
