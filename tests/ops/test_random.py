"""Random numbers are those of TensorFlow 1.15, run after run."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.shapes import TensorType

SEEDS = {"seed": 1234, "seed2": 99}
UNIFORM = [[0.5850531, 0.24656832, 0.4057864, 0.577502], [0.079125404, 0.66189194, 0.58812046, 0.8907018]]
NORMAL = [[1.0351845, 0.02232392, -0.628481, -1.1869576], [-1.9160022, -1.1842207, -0.6532709, 0.7967961]]
TRUNCATED = [[1.2553508, -0.24078846, -1.1840284, -0.97655064]]


def runs(op, *arrays, times=2, **attrs):
    """The first results of an operation in a session."""
    counter, out = 0, []
    attrs = {p.name: p.default for p in op.params if p.role.value in ("operand", "attribute")} | attrs
    for _ in range(times):
        state = np.array([counter, attrs["seed"], attrs["seed2"]], np.uint64)
        out.append(op.reference(state, *arrays, **attrs))
        types = [TensorType(as_dtype(a.dtype), a.shape) for a in arrays]
        counter += op.advance(types, out[-1].shape, **attrs)
    return out


def test_uniform_numbers_are_bit_equal():
    first, second = runs(ops.random_uniform, shape=(3, 5), **SEEDS, dtype=sg.float32)
    np.testing.assert_array_equal(first.ravel()[:4], np.float32(UNIFORM[0]))
    np.testing.assert_array_equal(second.ravel()[:4], np.float32(UNIFORM[1]))


def test_half_precision_takes_bits_of_its_own():
    first, _ = runs(ops.random_uniform, shape=(3, 5), **SEEDS, dtype=sg.float16)
    np.testing.assert_allclose(first.ravel()[:4], [0.755, 0.8877, 0.2021, 0.8965], atol=5e-4)


def test_normal_numbers_agree():
    first, second = runs(ops.random_standard_normal, shape=(3, 5), **SEEDS, dtype=sg.float32)
    np.testing.assert_allclose([first.ravel()[:4], second.ravel()[:4]], NORMAL, rtol=2e-7)


def test_truncated_normal_numbers_agree_in_the_second_run():
    _, second = runs(ops.truncated_normal, shape=(3, 7), **SEEDS, dtype=sg.float32)
    np.testing.assert_allclose(second.ravel()[:4], TRUNCATED[0], rtol=2e-7)
    assert np.abs(runs(ops.truncated_normal, shape=(2000,), **SEEDS, dtype=sg.float32)[0]).max() < 2


def test_integers_agree():
    bounds = np.int32(-7), np.int32(1000)
    first, second = runs(ops.random_uniform_int, *map(np.asarray, bounds), shape=(3, 5), seed=5, seed2=6)
    assert first.ravel()[:4].tolist() == [887, 248, 755, 734]
    assert second.ravel()[:4].tolist() == [776, 429, 756, 837]


def test_shuffle_agrees_and_loses_nothing():
    first, second = runs(ops.random_shuffle, np.arange(11), seed=5, seed2=6)
    assert first[:6].tolist() == [2, 8, 3, 10, 0, 1]
    assert second[:6].tolist() == [2, 3, 4, 1, 9, 7]
    assert sorted(first) == list(range(11))


def test_multinomial_never_draws_an_impossible_class():
    logits = np.float32([[0.0, -np.inf, 0.0]] * 2)
    drawn, _ = runs(ops.multinomial, logits, num_samples=200, seed=1, seed2=2, output_dtype=sg.int64)
    assert set(drawn.ravel()) == {0, 2}


@pytest.mark.parametrize(
    ("graph_seed", "op_seed", "wanted"),
    [
        (None, None, (None, None)),
        (7, None, (7, 0)),
        (7, 5, (7, 5)),
        (None, 5, (87654321, 5)),
        (0, 0, (0, 2**31 - 1)),
        (None, 0, (87654321, 0)),
    ],
)
def test_seeds(graph_seed, op_seed, wanted):
    sg.set_random_seed(graph_seed)
    assert sg.get_seed(op_seed) == wanted


# What was recorded from TensorFlow: calls, the default seed that their random operation gets, and its name.
CALLS = {
    "random_uniform/RandomUniform": (3, lambda: sg.random_uniform([2, 3])),
    "random_normal/RandomStandardNormal": (3, lambda: sg.random_normal([2, 3])),
    "truncated_normal/TruncatedNormal": (3, lambda: sg.truncated_normal([2, 3])),
    "random_uniform": (3, lambda: sg.random_uniform([2, 3], 0, 5, sg.int32)),
    "dropout/random_uniform/RandomUniform": (
        5,
        lambda: sg.nn.dropout(sg.placeholder(sg.float32, [None, 4]), 0.5),
    ),
    "RandomShuffle": (1, lambda: sg.random_shuffle(sg.constant([1, 2, 3]))),
    "multinomial/Multinomial": (1, lambda: sg.multinomial(sg.constant([[1.0, 2.0]]), 3)),
    "random_gamma/RandomGamma": (5, lambda: sg.random_gamma([2], [0.5, 1.5])),
    "random_poisson/RandomPoissonV2": (1, lambda: sg.random_poisson([0.5, 1.5], [2])),
}


@pytest.mark.parametrize("name", CALLS)
def test_default_seeds_count_the_operations_of_tensorflow(name):
    seed, call = CALLS[name]
    sg.set_random_seed(7)
    call()
    op = sg.get_default_graph().get_operation_by_name(name)
    assert (op.get_attr("seed"), op.get_attr("seed2")) == (7, seed)


def test_integers_need_an_upper_bound():
    with pytest.raises(ValueError, match="maxval"):
        sg.random_uniform([2], dtype=sg.int32)


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", [sg.float32, sg.int32, sg.float16, sg.float64, sg.int64])
@pytest.mark.parametrize("rate", [np.nan, 1e20, np.inf])
def test_rates_that_would_be_drawn_for_ever_are_errors_and_change_nothing(dtype, rate):
    """TensorFlow 1.15 does not come back from them. 1e20 is in the range of float32 and float64."""
    counter = sg.Variable(0)
    fed = sg.placeholder(sg.float64, [2])
    drawn, counted = sg.random_poisson(fed, [3], dtype, seed=1), sg.assign_add(counter, 1)
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        first = session.run(drawn, {fed: [3.0, 20.0]})
        if np.isfinite(rate) and float(dtype.max) > rate:
            assert np.all(np.abs(session.run(drawn, {fed: [rate, 1.0]})[:, 0] / rate - 1) < 1e-6)
            return
        text = r"random_poisson: rate\[1\] = .* not a number up to"
        with pytest.raises(sg.errors.InvalidArgumentError, match=text):
            session.run([drawn, counted], {fed: [3.0, rate]})
        assert session.run(counter) == 0
        second = session.run(drawn, {fed: [3.0, 20.0]})
    with sg.Session() as session:
        np.testing.assert_array_equal(first, session.run(drawn, {fed: [3.0, 20.0]}))
        np.testing.assert_array_equal(second, session.run(drawn, {fed: [3.0, 20.0]}))


def test_gamma_and_poisson_are_native_and_the_same_at_any_number_of_threads(monkeypatch):
    alpha = sg.placeholder(sg.float32, [None])
    drawn = [sg.random_gamma([50], alpha, seed=1), sg.random_poisson(alpha * 9.0, [50], seed=2)]
    fed = {alpha: np.linspace(0.1, 4, 40, dtype=np.float32)}
    made = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SG_THREADS", threads)
        with sg.Session() as session:
            assert "host" not in str(session.plan(drawn, fed))
            made.append([session.run(drawn, fed) for _ in range(2)])
    np.testing.assert_array_equal(np.stack([*made[0][0], *made[0][1]]), np.stack([*made[1][0], *made[1][1]]))


@pytest.mark.takes_long
def test_open_sizes_draw_the_numbers_of_closed_ones():
    numbers = []
    for rows in (4, None):
        with sg.Graph().as_default(), sg.Session() as session:
            alpha = sg.placeholder(sg.float64, [rows, 2])
            gamma = sg.random_gamma([3], alpha, seed=1, dtype=sg.float64)
            [slope] = sg.gradients(gamma, [alpha])
            fetches = [gamma, slope, sg.random_poisson(alpha * 9.0, [3], seed=2)]
            numbers.append(session.run(fetches, {alpha: np.linspace(0.1, 4, 8).reshape(4, 2)}))
            assert session.run(fetches, {alpha: np.ones((4, 2))})[0].shape == (3, 4, 2)
    for closed, open_ in zip(*numbers, strict=True):
        np.testing.assert_allclose(open_, closed, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_derivative_by_the_shape_is_exact_where_densities_are_no_numbers(dtype):
    """By mpmath, from differences of P with 60 digits. TensorFlow 1.15 gives 0.18 and 0.71 for the last."""
    alpha = np.array([2.5, 1000.0, 50.0, 1e5, 1e5])
    x = np.array([3.0, 400.0, 90.0, 1.01e5, 1e5])
    wanted = [1.16926200673766347, 0.610959536591703948, 1.32688917018121691]
    wanted += [1.00498509113849203, 1.00000166666833332]
    with sg.Session() as session:
        made = session.run(ops.random_gamma_grad(sg.constant(alpha, dtype), sg.constant(x, dtype)))
    np.testing.assert_allclose(made, wanted, rtol=1e-13 if dtype == "float64" else 2.0**-23)
