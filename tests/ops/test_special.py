"""Special functions beside exact values, and small results of 16-bit numbers whose sums are large."""

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from tests.ops.meaning import meaning

RECORDED = np.load(Path(__file__).with_name("special.npz"))  # by tools/record/special.py
LIMITS = json.loads(Path(__file__).with_name("special_limits.json").read_text())  # by the same tool


@pytest.mark.parametrize("column", [0, 1, 2], ids=["P", "Q", "dP/da"])
def test_incomplete_gamma_functions_are_exact(column):
    op = (ops.igamma, ops.igammac, ops.igamma_grad_a)[column]
    wanted = RECORDED["gamma"][:, column]
    known = (np.abs(RECORDED["gamma"]) > 1e-20).all(axis=1)  # smaller ones are not as exact
    found = meaning(op, RECORDED["a"], RECORDED["x"])
    assert known.sum() > 200
    np.testing.assert_allclose(found[known], wanted[known], rtol=1e-13)


def test_incomplete_gamma_functions_of_huge_numbers():
    """Series as long as the numbers are large would never end."""
    huge = np.array([1e10, 1e300, 1e300, 1.0])
    other = np.array([1e10, 1e300, 1.0, 1e300])
    np.testing.assert_allclose(meaning(ops.igamma, huge, other), [0.5, 0.5, 0, 1], atol=2e-6)
    np.testing.assert_allclose(meaning(ops.igammac, huge, other), [0.5, 0.5, 1, 0], atol=2e-6)
    assert np.isfinite(meaning(ops.igamma_grad_a, huge, other)).all()
    assert meaning(ops.polygamma, np.array([0.0, 3.0]), np.array([1e300, 1e300])).tolist()[1] == 0


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_of_scipy(name, dtype):
    """At zero, negative, infinite and NaN arguments, computed by a compiled step and by the meaning."""
    *arguments, wanted = np.array(LIMITS[name], dtype).T
    with sg.Graph().as_default(), sg.Session() as session:
        fed = [sg.placeholder(dtype, [None]) for _ in arguments]
        found = session.run(getattr(sg, name)(*fed), dict(zip(fed, arguments, strict=True)))
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype == "float32" else 1e-13)
    with np.errstate(all="ignore"):
        meant = getattr(ops, name).reference(*arguments)
    np.testing.assert_allclose(meant, wanted, rtol=1e-6)


def test_derivative_by_order_at_its_ends():
    """P(a, x) vanishes as `a` grows beyond x, and has no derivative from both sides at zero."""
    order, x = np.array([np.inf, np.inf, np.inf, 0.0, 0.0, 2.0]), np.array([0.0, 3.0, np.inf, 3.0, 0.0, 0.0])
    wanted = [0.0, 0.0, np.nan, np.nan, np.nan, 0.0]
    np.testing.assert_array_equal(meaning(ops.igamma_grad_a, order, x), wanted)
    with sg.Graph().as_default(), sg.Session() as session:
        a, at = sg.placeholder("float64", [6]), sg.placeholder("float64", [6])
        np.testing.assert_array_equal(
            session.run(sg.gradients(sg.igamma(a, at), a)[0], {a: order, at: x}), wanted
        )


def test_zeta_of_an_infinite_power_is_its_first_term():
    """The terms q ** -x vanish from 1 on."""
    power, q = np.full(4, np.inf), np.array([0.5, 1.0, 3.0, np.nan])
    with sg.Graph().as_default(), sg.Session() as session:
        fed = [sg.placeholder("float64", [None]) for _ in range(2)]
        compiled = session.run(sg.zeta(*fed), dict(zip(fed, (power, q), strict=True)))
    for found in (compiled, meaning(ops.zeta, power, q)):
        np.testing.assert_array_equal(found, [np.inf, 1.0, 0.0, np.nan])


def test_a_sum_of_infinities_of_both_signs_is_nan():
    """Powers below zero of a huge odd order, interpreted."""
    with np.errstate(all="ignore"):
        assert np.isnan(ops.zeta.reference(np.array(10001.0), np.array(-0.5)))


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_are_exact(order):
    found = meaning((ops.bessel_i0e, ops.bessel_i1e)[order], RECORDED["z"])
    np.testing.assert_allclose(found, RECORDED["bessel"][:, order], rtol=4e-15)


def test_bessel_functions_at_the_ends():
    with sg.Session() as session:
        x = sg.placeholder(sg.float64, [4])
        found = session.run(
            [sg.math.bessel_i0e(x), sg.math.bessel_i1e(x)], {x: [np.nan, 1e308, np.inf, -1e308]}
        )
    limit = 1 / np.sqrt(2 * np.pi) / np.sqrt(1e308)
    np.testing.assert_allclose(found, [[np.nan, limit, 0, limit], [np.nan, limit, 0, -limit]], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("start", "stop", "count"), [(0.0, 1.0, 50), (0.1, 0.3, 7), (-3.0, 100.0, 5000)])
def test_lin_space_ends_at_its_end(dtype, start, stop, count):
    with sg.Session() as session:
        ends = [sg.cast(sg.constant(each, sg.float64), dtype) for each in (start, stop)]
        made, first, last = session.run([sg.lin_space(*ends, count), *ends])
    assert made[0] == first and made[-1] == last and len(made) == count


LARGE = np.random.default_rng(0).uniform(200, 400, (3, 4000))  # their sum and their squares overflow
PIXELS = np.full((1, 40, 40, 2), 300.0)
SMALL_RESULTS = {
    "mean": (lambda x: sg.reduce_mean(x, 1), LARGE),
    "moments": (lambda x: sg.nn.moments(x, [1])[0], LARGE),
    "variance": (lambda x: sg.nn.moments(x, [1])[1], LARGE),
    "weighted moments": (lambda x: sg.nn.weighted_moments(x, [1], sg.ones_like(x))[1], LARGE),
    "reduce_variance": (lambda x: sg.math.reduce_variance(x, 1), LARGE),
    "reduce_std": (lambda x: sg.math.reduce_std(x, 1), LARGE),
    "euclidean norm": (lambda x: sg.math.reduce_euclidean_norm(x, 1), LARGE),
    "norm": (lambda x: sg.norm(x, axis=1), LARGE),
    "norm, ord 3": (lambda x: sg.norm(x, ord=3, axis=1), LARGE),
    "l2_normalize": (lambda x: sg.nn.l2_normalize(x, 1), LARGE),
    "normalize": (lambda x: sg.linalg.normalize(x, axis=1)[0], LARGE),
    "softmax": (lambda x: sg.nn.softmax(sg.tile(x, [1, 20]) * 0.0)[:, :3], LARGE),
    "log_softmax": (lambda x: sg.nn.log_softmax(sg.tile(x, [1, 20]) * 0.0)[:, :3], LARGE),
    "logsumexp": (lambda x: sg.reduce_logsumexp(sg.tile(x, [1, 20]), 1), LARGE),
    "cross entropy": (
        lambda x: sg.nn.sparse_softmax_cross_entropy_with_logits(
            labels=[0, 1, 2], logits=sg.tile(x, [1, 20]) * 0.0
        ),
        LARGE,
    ),
    "clip_by_norm": (lambda x: sg.clip_by_norm(x, 5.0), LARGE),
    "clip_by_average_norm": (lambda x: sg.clip_by_average_norm(x, 0.1), LARGE),
    "clip_by_global_norm": (lambda x: sg.clip_by_global_norm([x], 5.0)[0][0], LARGE),
    "squared error": (lambda x: sg.losses.mean_squared_error(x, x * 0.9, loss_collection=None), LARGE),
    "mean of a segment": (lambda x: sg.segment_mean(sg.transpose(x), np.zeros(4000, int)), LARGE),
    "mean of an unsorted segment": (
        lambda x: sg.math.unsorted_segment_mean(sg.transpose(x), np.zeros(4000, int), 1),
        LARGE,
    ),
    "avg_pool": (lambda x: sg.nn.avg_pool(x, [1, 40, 40, 1], [1, 1, 1, 1], "VALID"), PIXELS),
    "response normalization": (lambda x: sg.nn.lrn(x, 5, 1.0, 1e-4, 0.75)[0, 0, 0], PIXELS),
}


@pytest.mark.takes_long
@pytest.mark.parametrize("name", SMALL_RESULTS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_only_the_result_must_fit(name, dtype):
    function, array = SMALL_RESULTS[name]
    x = sg.placeholder(sg.float32, array.shape)
    narrow, wide = (sg.cast(function(sg.cast(x, d)), sg.float64) for d in (dtype, sg.float32))
    with sg.Session() as session:
        found, wanted = session.run([narrow, wide], {x: array})
    np.testing.assert_allclose(found, wanted, rtol=0.02 if dtype == "float16" else 0.1, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_moments_of_a_batch_have_the_type_of_its_scale(dtype):
    x = sg.placeholder(sg.float16, [1, 2, 2, 1])
    y, mean, variance = sg.nn.fused_batch_norm(x, sg.ones([1], dtype), sg.zeros([1], dtype))
    with sg.Session() as session:
        found = session.run([y, mean, variance], {x: np.reshape([300.0, 500.0, 300.0, 500.0], (1, 2, 2, 1))})
    assert [a.dtype.name for a in found] == ["float16", dtype, dtype]
    np.testing.assert_allclose(found[0].ravel(), [-1, 1, -1, 1], rtol=1e-3)
    np.testing.assert_allclose([found[1][0], found[2][0]], [400, 40000 / 3], rtol=1e-3)


@pytest.mark.parametrize("kind", ["definite", "general", "defective", "with equal eigenvalues"])
def test_a_square_root_squares_to_its_matrix(kind, rng):
    x = rng.normal(size=(2, 8, 8))
    matrix = {
        "definite": x @ np.swapaxes(x, -1, -2),
        "general": x @ np.swapaxes(x, -1, -2) + 0.1 * x + np.eye(8),
        "defective": np.triu(np.full((8, 8), 2.0)),
        "with equal eigenvalues": np.kron(np.eye(4), [[2.0, 1.0], [0.0, 2.0]]),
    }[kind]
    root = meaning(ops.matrix_square_root, matrix)
    np.testing.assert_allclose(root @ root, matrix, atol=1e-11)
    assert (np.linalg.eigvals(root).real > 0).all()


def test_a_real_matrix_may_have_no_real_square_root():
    assert np.isnan(meaning(ops.matrix_square_root, -np.eye(2))).all()
    np.testing.assert_allclose(meaning(ops.matrix_square_root, -np.eye(2) + 0j), 1j * np.eye(2))


def test_trigamma_at_poles_and_near_them():
    """SciPy's `polygamma(1, x)`, by the formula of reflection near a pole, where it loses digits itself."""
    poles = np.array([-1.0, -2.0, -1e17, -np.inf, 0.0, -0.0])
    near = np.array([-1 + 2.0**-20, -7 - 2.0**-16, -40 + 2.0**-10])
    told = [1099511627778.6445, 4294967299.156733, 1048579.2651836276]
    for dtype in (np.float64, np.float32):
        assert np.isposinf(meaning(ops.trigamma, poles.astype(dtype))).all()
        with sg.Session() as session:
            assert np.isposinf(session.run(ops.trigamma(sg.constant(poles, dtype)))).all()
    with sg.Session() as session:
        fed = sg.placeholder(sg.float64, [None])
        np.testing.assert_allclose(session.run(ops.trigamma(fed), {fed: near}), told, rtol=1e-14)
        assert np.isposinf(session.run(ops.trigamma(fed), {fed: poles})).all()
    np.testing.assert_allclose(meaning(ops.trigamma, near), told, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_digamma_is_infinite_at_its_poles(dtype):
    """As TensorFlow 1.15 has it, whatever the sign of zero is; and so is the derivative of lgamma."""
    poles = np.array([0.0, -0.0, -1.0, -2.0, -np.inf, np.inf], dtype)
    fed = sg.placeholder(dtype, [6])
    zero = np.zeros(6, dtype)
    wanted = [sg.digamma(fed), sg.polygamma(zero, fed), sg.gradients(sg.lgamma(fed), [fed])[0]]
    with sg.Session() as session:
        for made in (*session.run(wanted, {fed: poles}), session.run(sg.digamma(poles))):
            assert np.isposinf(made).all()
    assert np.isposinf(meaning(ops.polygamma, zero, poles)).all()
