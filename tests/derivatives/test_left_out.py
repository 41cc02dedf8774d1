"""An input without a gradient does not change the results: a derivative is never left out in silence.

`differentiable` of an op names the inputs to which gradients flow. The results must not depend on the others,
unless `no_gradient_known` says that they do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import OPS, OpDef, Role
from tests.derivatives.points import differentiable_uses
from tests.derivatives.registry import REFUSALS
from tests.ops.harness import Build, Use

CHOOSY = [op for op in OPS.values() if isinstance(op.differentiable, tuple) and op.samples is not None]
_STEP = 1e-4


def _results(use: Use, position: int, step: float) -> list[np.ndarray]:
    arrays = list(use.arrays)
    direction = np.random.default_rng(0).uniform(0.5, 1, arrays[position].shape)
    arrays[position] = (arrays[position] + step * direction).astype(arrays[position].dtype)
    build = Build()
    _, results = build.add(replace(use, arrays=tuple(arrays)))
    return interpret(build.function(results), build.arguments)


def _slope(use: Use, position: int) -> float:
    """The largest derivative of a result: where differences of two steps agree, so that it is no jump."""
    try:
        at, near, far = (_results(use, position, step) for step in (0.0, _STEP, 2 * _STEP))
    except REFUSALS:
        return 0.0
    largest = 0.0
    for a, b, c in zip(at, near, far, strict=True):
        if a.dtype.kind in "fc" and a.size:
            short, long = (b - a) / _STEP, (c - a) / (2 * _STEP)
            agree = np.isfinite(short) & (np.abs(short - long) < 0.1 * np.abs(short))
            largest = max(largest, float(np.max(np.abs(short), initial=0.0, where=agree)))
    return largest


@pytest.mark.parametrize("op", CHOOSY, ids=lambda op: op.name)
def test_results_do_not_depend_on_inputs_without_gradients(op: OpDef):
    for use in list(differentiable_uses(op, deep=False))[:4]:
        attrs = {p.name: p.default for p in op.params if p.role is Role.ATTR} | use.sample.attrs
        count = len(use.arrays)
        told = {*op.gradient_inputs(count, attrs), *op.lacking_inputs(count)}
        rest = [i for i in range(count) if i not in told and use.dtypes[i].is_differentiable]
        assert not [i for i in rest if use.arrays[i].size and _slope(use, i) > 1e-6], use


def test_the_second_derivative_of_local_response_normalization():
    """Before, the derivative of its derivative by the image was left out."""
    rng = np.random.default_rng(0)
    image, weights, direction = (rng.normal(size=(1, 2, 2, 3)) for _ in range(3))
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.float64, image.shape)
        [slope] = sg.gradients(sg.reduce_sum(sg.nn.lrn(x, 1, 1.0, 0.5, 0.7) * weights), x)
        along = sg.reduce_sum(slope * direction)
        [second] = sg.gradients(along, x)
        found = sess.run(second, {x: image})
        for place in np.ndindex(image.shape):
            step = np.zeros_like(image)
            step[place] = 1e-5
            high, low = (sess.run(along, {x: image + sign * step}) for sign in (1, -1))
            assert abs(found[place] - (high - low) / 2e-5) < 1e-8
