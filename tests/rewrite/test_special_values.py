"""Every rule at zeros of both signs, infinities, NaN, denormal and extreme numbers.

What a rule makes must be what was written, but for rounding. A rule that improves results may also make what
was written has in a dtype of twice the digits, a number where finite numbers overflow, and a zero of another
sign: the manual's page on accuracy tells that.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32, uint8
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import recording
from staticgraph.compiler.passes.simplify import every_rule
from staticgraph.compiler.rewrite import IMPROVES, Number, Rule, build, variables_of
from tests.rewrite.test_rules import allows, attributes_of

RULES = [rule for rule in every_rule() if not attributes_of(rule.left) and "p" not in variables_of(rule.left)]
FLOATS = [0.0, 1e-45, 2e-39, 1.2e-38, 1e-30, 1e-7, 0.1, 0.5, 1.0, 1.5, 3.0, 40.3, 1e8, 1e30, 3.4e38, np.inf]
SPECIALS: dict[DType, list[float]] = {
    float32: [sign * each for each in FLOATS for sign in (1, -1)] + [np.nan],
    int32: [0, 1, 2, 3, 7, 2**31 - 1, -1, -2, -(2**31), 1 - 2**31],
    uint8: [0, 1, 2, 3, 127, 128, 254, 255],
}


def written(rule: Rule, dtype: DType, variables: dict[str, np.ndarray], numbers: dict[str, float]) -> Any:
    """The left side in a dtype: a value, and the arrays of its parameters."""
    builder, arrays, bound = Builder(), {}, {}
    for name, array in variables.items():
        bound[name] = builder.parameter(name, dtype, array.shape)
        arrays[bound[name]] = array.astype(dtype.numpy)
    bound |= {name: builder.constant(number, dtype) for name, number in numbers.items()}
    with recording(builder):
        return build(rule.left, bound), arrays


def value_of(value: Value, arrays: dict[Value, np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return interpret(Function(tuple(arrays), (value,)), arrays)[0]


def unlike(found: np.ndarray, wanted: np.ndarray, absolute: float = 0.0) -> np.ndarray:
    """Mask of elements that differ by more than rounding and the absolute error."""
    info = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        allowed = 4 * info.eps * np.maximum(np.abs(wanted), info.tiny) + absolute
        near = np.isfinite(found) & np.isfinite(wanted) & (np.abs(np.float64(found) - wanted) <= allowed)
    return ~((found == wanted) | near | (np.isnan(found) & np.isnan(wanted)))


def wrong(
    rule: Rule, found: np.ndarray, wanted: np.ndarray, exact: np.ndarray, finite: np.ndarray
) -> np.ndarray:
    """Mask of elements for which a rule makes neither what was written nor, if the rule says so, better.

    `exact` is what was written, in float64; `finite` tells if the variables are.
    """
    if not np.issubdtype(wanted.dtype, np.floating):
        return found != wanted
    if IMPROVES not in rule.inexact:
        return unlike(found, wanted) | (~np.isnan(found) & (np.signbit(found) != np.signbit(wanted)))
    overflow = finite & np.isinf(wanted) & np.isfinite(found)
    return unlike(found, wanted) & unlike(found, exact, np.finfo(np.float64).eps) & ~overflow


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_changes_no_value(rule: Rule):
    leaves = variables_of(rule.left)
    given = [name for name, leaf in leaves.items() if isinstance(leaf, Number)]
    faults: list[str] = []
    for dtype, specials in SPECIALS.items():
        if not allows(rule.left, dtype):
            continue
        values = np.array(specials, dtype.numpy)
        grids = np.meshgrid(*[values] * (len(leaves) - len(given)), indexing="ij")
        variables = dict(zip([name for name in leaves if name not in given], grids, strict=True))
        for numbers in itertools.product(values[::2] if len(given) > 1 else values, repeat=len(given)):
            chosen = dict(zip(given, numbers, strict=True))
            left, arrays = written(rule, dtype, variables, chosen)
            with np.errstate(all="ignore"):
                right = rule.apply(left, lambda value: 1)
            if right is None:
                continue
            wanted, found = value_of(left, arrays), value_of(right, arrays)
            exact = value_of(*written(rule, float64, variables, chosen)) if dtype is float32 else wanted
            finite = np.all([np.isfinite(array) for array in grids], axis=0)
            faults_at = np.argwhere(wrong(rule, found, wanted, exact, finite))
            for place in faults_at[:3]:
                at = {name: array[tuple(place)] for name, array in variables.items()} | chosen
                faults.append(f"{dtype} {at}: {found[tuple(place)]}, not {wanted[tuple(place)]}")
    assert not faults, "\n".join(faults[:20])


def test_powers_of_a_half_in_a_step():
    """As C has them, and NumPy for arrays of exponents: of -0 and of -inf, too. Roots differ there."""
    x = sg.placeholder(sg.float32, [None])
    values = np.array([-0.0, 0.0, -np.inf, np.inf, np.nan, -1.0, 4.0], np.float32)
    for exponent in (0.5, -0.5):
        found = sg.Session().run(sg.pow(x, exponent), {x: values})
        with np.errstate(all="ignore"):
            wanted = np.power(values, np.full_like(values, exponent))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found)[:4], np.signbit(wanted)[:4])


def test_factors_are_not_gathered_past_the_range_of_a_dtype():
    x = sg.placeholder(sg.float32, [2])
    found = sg.Session().run([x * 1e30 * 1e30, x * 1e-30 * 1e-30, x + 2e38 + 2e38], {x: [0.0, -3e38]})
    np.testing.assert_allclose(found, [[0.0, -np.inf], [0.0, -3e-22], [np.inf, 1e38]], rtol=1e-6)


def test_digits_of_a_small_addend_after_a_large_one():
    x = sg.placeholder(sg.float32, [2])
    large = np.float32(1.5 * 2**23)  # adding it and taking it off again rounds to a whole number
    found = sg.Session().run([x + 1e8 + 1.0, x + large - large], {x: [-1e8, 2.3]})
    np.testing.assert_array_equal(found, [[1.0, 1e8], [-1e8, 2.0]])


def test_zeros_of_both_signs_are_no_single_number():
    x = sg.placeholder(sg.float32, [2])
    zeros = sg.constant([0.0, -0.0])
    found = sg.Session().run([1 / (x * zeros), 1 / (x - zeros)], {x: [-0.0, -0.0]})
    np.testing.assert_array_equal(found, [[-np.inf, np.inf], [-np.inf, np.inf]])


@pytest.mark.parametrize("offset", [None, 1.0])
@pytest.mark.parametrize(("axes", "keepdims"), [([0], False), ([0], True), ([0, 1], False)])
def test_normalizing_what_does_not_vary(axes, keepdims, offset):
    """Elements that equal their mean become the offset: they are not divided by a tiny deviation first."""
    x = sg.placeholder(sg.float32, [2, 8])
    mean, variance = sg.nn.moments(x, axes, keepdims=keepdims)
    for scale in (None, sg.Variable(np.full(8, 3, np.float32))):
        shift = None if offset is None else sg.constant(offset, shape=[8])
        y = sg.nn.batch_normalization(x, mean, variance, shift, scale, 1e-12)
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            found = session.run(y, {x: np.full((2, 8), 0.65)})
        np.testing.assert_array_equal(found, np.full((2, 8), offset or 0.0))
