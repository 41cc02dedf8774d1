"""Random programs of loops and branches give in a graph what they give in Python; so do derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.fuzz.loops import COUNT, FLOATS, MATRIX, NUMBER, TRUTH, VECTOR, Graph, Plain, Writer

KINDS = (VECTOR, VECTOR, NUMBER, COUNT, COUNT, TRUTH, MATRIX)
SEEDS = range(6)


def arguments(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=3),
        rng.normal(size=3),
        np.float64(rng.normal()),
        np.int32(rng.integers(0, 7)),
        np.int32(rng.integers(0, 7)),
        np.bool_(rng.integers(0, 2)),
        rng.normal(size=(4, 3)),
    ]


def placeholders() -> list[Any]:
    shapes = {VECTOR: [3], MATRIX: [4, 3]}
    dtypes = {COUNT: sg.int32, TRUTH: sg.bool}
    return [sg.placeholder(dtypes.get(k, sg.float64), shapes.get(k, [])) for k in KINDS]


@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_variables(seed: int):
    program = Writer(seed, assigns=True).program(KINDS)
    inputs = placeholders()
    variable = sg.get_variable("v", initializer=np.ones(3))
    made = Graph(variable).run(program, inputs)
    plain = Plain(np.ones(3))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for again in range(3):
            values = arguments(seed + 1000 * again)
            wanted = plain.run(program, values)
            found = sess.run(made, dict(zip(inputs, values, strict=True)))
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(sess.run(variable), plain.variable, rtol=1e-9, atol=1e-12)


@pytest.mark.takes_long
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives(seed: int):
    program = Writer(seed).program(KINDS)
    inputs = placeholders()
    made = Graph(None).run(program, inputs)
    total = sum(sg.reduce_sum(t) for t in made if t.dtype is sg.float64)
    places = [i for i, kind in enumerate(KINDS) if kind in FLOATS]
    grads = sg.gradients(total, [inputs[i] for i in places])
    grads = [sg.zeros_like(inputs[i]) if g is None else g for i, g in zip(places, grads, strict=True)]
    with sg.Session() as sess:
        for again in range(2):
            values = arguments(seed + 1000 * again)
            found = sess.run(grads, dict(zip(inputs, values, strict=True)))
            for i, grad in zip(places, found, strict=True):
                np.testing.assert_allclose(grad, slopes(program, values, i), rtol=1e-5, atol=1e-6)


@pytest.mark.takes_long
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_inside_a_branch_and_a_loop(seed: int):
    """As `test_derivatives`, but for where they are taken."""
    program = Writer(seed).program(KINDS)
    inputs = placeholders()
    places = [i for i, kind in enumerate(KINDS) if kind in FLOATS]

    def derivatives() -> list[sg.Tensor]:
        made = Graph(None).run(program, inputs)
        total = sum(sg.reduce_sum(t) for t in made if t.dtype is sg.float64)
        wanted = [inputs[i] for i in places]
        return sg.gradients(total, wanted, unconnected_gradients="zero")

    def summed(i: sg.Tensor, *before: sg.Tensor) -> list[sg.Tensor]:
        return [i + 1, *(b + g for b, g in zip(before, derivatives(), strict=True))]

    zeros = [sg.zeros_like(inputs[i]) for i in places]
    truth = sg.placeholder(sg.bool, [])
    in_branch = sg.cond(truth, derivatives, lambda: [z + 7.0 for z in zeros])
    _, *in_loop = sg.while_loop(lambda i, *_: i < 2, summed, [0, *zeros])
    values = arguments(seed)
    feeds = dict(zip(inputs, values, strict=True))
    with sg.Session() as sess:
        taken, both = sess.run([in_branch, in_loop], {**feeds, truth: True})
        left = sess.run(in_branch, {**feeds, truth: False})
    for i, one, two, no in zip(places, taken, both, left, strict=True):
        wanted = slopes(program, values, i)
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(two, 2 * wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(no, np.full(np.shape(wanted), 7.0))


def slopes(program: Any, values: list[Any], place: int, step: float = 1e-6) -> np.ndarray:
    """Central differences of the sum of what the program leaves."""

    def total(changed: np.ndarray) -> float:
        given = [*values[:place], changed, *values[place + 1 :]]
        made = Plain(np.zeros(3)).run(program, given)
        return float(sum(np.sum(m) for m in made if np.asarray(m).dtype == np.float64))

    base = np.asarray(values[place])
    out = np.empty(base.shape)
    for at in np.ndindex(base.shape):
        up, down = base.copy(), base.copy()
        up[at] += step
        down[at] -= step
        out[at] = (total(up) - total(down)) / (2 * step)
    return out
