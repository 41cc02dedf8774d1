"""Derivatives of ops and of public functions beside differences: a part of tools/accuracy/derivatives.py."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef
from tests.derivatives.differences import Outcome, check_public
from tests.derivatives.public import golden_points, matrix_points
from tests.derivatives.registry import compare
from tests.derivatives.walked import walked_points
from tests.ops.harness import TESTED

# What `range` counts from and to is known when it is compiled. The derivative of a random number follows from
# its distribution, not from how it is drawn: tests/api/test_distributions.py looks at it.
SMOOTH = [
    op
    for op in TESTED
    if op.differentiable is not False and op.name != "range" and op.effect is not Effect.RANDOM
]
NOT_SMOOTH = {
    "det, singular": "first only",
    "pinv, singular": "the rank changes",
    "qr, identity": "signs change",
}


def told(outcome: Outcome) -> str:
    return "\n".join(outcome.wrong)


@pytest.mark.takes_long
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in SMOOTH])
def test_of_an_op(op: OpDef):
    outcome = compare(op, deep=False)
    assert not outcome.wrong, told(outcome)
    assert outcome.compared[1], "nothing was compared"


@pytest.mark.takes_long
@pytest.mark.parametrize("point", [pytest.param(p, id=p.name) for p in matrix_points()])
def test_of_a_function_of_matrices(point):
    outcome = check_public(point.function, point.arrays, point.name)
    assert not outcome.wrong, told(outcome)
    empty = point.arrays[0].size == 0
    smooth = not any(name in point.name for name in NOT_SMOOTH)
    assert all(outcome.compared.values()) or empty or not smooth


# Where the derivative of a formula was lost between two of its parts, such as |x| and max(x, 0).
AT_SPECIAL_POINTS = {
    "weighted cross entropy of 0": (
        lambda x: sg.nn.weighted_cross_entropy_with_logits(0.3, x, 2.0),
        [np.zeros(())],
    ),
    "Huber loss of 0": (
        lambda x: sg.losses.huber_loss(np.zeros(3), x, loss_collection=None),
        [np.array([0.0, 0.3, 2.0])],
    ),
    "Keras' Huber loss of 0": (
        lambda x: sg.keras.losses.huber_loss(np.zeros((1, 3)), x),
        [np.array([[0.0, 0.3, 2.0]])],
    ),
    "image of one colour": (sg.image.per_image_standardization, [np.ones((2, 2, 1))]),
    "clipping of zeros": (lambda x: sg.clip_by_average_norm(x, 1.0), [np.zeros(3)]),
    "clipping of zeros together": (lambda x: sg.clip_by_global_norm([x], 1.0)[0][0], [np.zeros(3)]),
    "lookup of zeros": (
        lambda x: sg.nn.embedding_lookup(x, [0, 1], max_norm=1.0),
        [np.array([[0.0, 0.0], [3.0, 4.0]])],
    ),
    "Laplace at its mean": (
        lambda x: sg.distributions.Laplace(0.0 * x, 1.0 + 0.0 * x).log_cdf(x),
        [np.zeros(())],
    ),
    "moments": (lambda x: list(sg.nn.moments(x, [1])), [np.random.default_rng(0).normal(size=(2, 5))]),
    "weighted moments": (
        lambda x, w: list(sg.nn.weighted_moments(x, [1], w)),
        [np.random.default_rng(0).normal(size=(2, 5)), np.random.default_rng(1).uniform(0.5, 2, (2, 5))],
    ),
    "power of 0": (lambda x: [x**1.0, x**2.0, x**3.0, sg.pow(x, 0.0)], [np.zeros(())]),
    "linspace": (lambda a, b: sg.linspace(a, b, 5), [np.array(1.0), np.array(-2.5)]),
    "cross entropy of probabilities": (
        lambda x, z: sg.nn.softmax_cross_entropy_with_logits_v2(labels=sg.nn.softmax(z), logits=x),
        [np.random.default_rng(0).normal(size=(2, 3)), np.random.default_rng(1).normal(size=(2, 3))],
    ),
}


@pytest.mark.parametrize("name", AT_SPECIAL_POINTS)
def test_at_a_special_point(name):
    function, arrays = AT_SPECIAL_POINTS[name]
    outcome = check_public(function, arrays, name)
    assert not outcome.wrong, told(outcome)
    assert outcome.compared == {1: 1, 2: name != "Laplace at its mean"}


@pytest.mark.slow
def test_the_walk_finds_functions_that_are_made_of_several_operations():
    names = {point.name.split(" of ")[0] for point in walked_points(deep=False)}
    some = "math.cumulative_logsumexp nn.separable_conv2d linalg.normalize losses.huber_loss signal.idct"
    more = "image.rgb_to_yiq keras.backend.batch_normalization keras.losses.logcosh contrib.layers.unit_norm"
    assert {f"walk/{name}" for name in f"{some} {more}".split()} <= names
    assert len(names) > 250


@pytest.mark.takes_long
@pytest.mark.parametrize("part", range(8))
def test_of_functions_that_the_walk_finds(part: int):
    """One of five functions: to find out how each is called takes seconds."""
    points = [*walked_points(deep=False, part=slice(part, None, 40))]
    assert len(points) > 3
    for point in points:
        outcome = check_public(point.function, point.arrays, point.name)
        assert not outcome.wrong, told(outcome)


GOLDEN = list(golden_points(deep=False))


@pytest.mark.parametrize("point", [pytest.param(p, id=p.name) for p in GOLDEN[::25]])
def test_of_a_golden_case(point):
    outcome = check_public(point.function, point.arrays, point.name)
    assert not outcome.wrong, told(outcome)


def test_a_wrong_derivative_is_found():
    double = sg.custom_gradient(lambda x: (x * x, lambda dy: 3.0 * x * dy))
    outcome = check_public(double, [np.array(2.0)], "square")
    assert "derivative 1 is" in told(outcome)
    assert OPS["range"].grad is None
