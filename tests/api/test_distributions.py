"""`sg.distributions`: draws against moments and densities, derivatives through draws, own classes."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.random_numbers.rejection import random_gamma
from tests.sessions import evaluated

ds = sg.distributions


@pytest.fixture(autouse=True)
def empty_graph():
    sg.reset_default_graph()


# How a class is made, and how far the moments of 20,000 draws may be off, in standard errors' size.
KINDS = {
    "Normal": lambda: ds.Normal([0.0, 1.0], 2.0),
    "Laplace": lambda: ds.Laplace(0.0, [1.0, 2.0]),
    "Logistic": lambda: ds.Logistic([0.0, 5.0], 1.0),
    "StudentT": lambda: ds.StudentT(9.0, [1.0, 2.0], 3.0),
    "Uniform": lambda: ds.Uniform(0.0, [1.0, 3.0]),
    "Gamma": lambda: ds.Gamma([0.5, 3.0], 2.0),
    "Exponential": lambda: ds.Exponential([1.0, 2.0]),
    "Chi2": lambda: ds.Chi2([1.0, 3.0]),
    "InverseGamma": lambda: ds.InverseGamma(9.0, [1.0, 2.0]),
    "Beta": lambda: ds.Beta(2.0, [3.0, 0.5]),
    "Dirichlet": lambda: ds.Dirichlet([[1.0, 2.0, 3.0], [0.5, 0.5, 2.0]]),
    "Bernoulli": lambda: ds.Bernoulli(probs=[0.2, 0.7]),
    "OneHotCategorical": lambda: ds.OneHotCategorical(logits=[0.0, 1.0, 2.0]),
    "Geometric": lambda: ds.Geometric(probs=[0.3, 0.8]),
    "Multinomial": lambda: ds.Multinomial([3.0, 5.0], probs=[[0.2, 0.8], [0.5, 0.5]]),
    "DirichletMultinomial": lambda: ds.DirichletMultinomial(4.0, [1.0, 2.0, 3.0]),
    "MultivariateNormalDiag": lambda: ds.MultivariateNormalDiag([1.0, 2.0], [0.5, 3.0]),
    "MultivariateNormalTriL": lambda: ds.MultivariateNormalTriL([1.0, 2.0], [[1.0, 0.0], [0.5, 2.0]]),
    "Mixture": lambda: ds.Mixture(
        ds.Categorical(probs=[0.3, 0.7]), [ds.Normal(-1.0, 0.1), ds.Normal(1.0, 0.5)]
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_mean_and_the_variance(kind):
    made = KINDS[kind]()
    draws, mean, variance = evaluated([made.sample(20_000, seed=5), made.mean(), made.variance()])
    draws = draws.astype(np.float64)
    assert draws.shape == (20_000, *made.batch_shape.as_list(), *made.event_shape.as_list())
    deviation = np.sqrt(variance)
    np.testing.assert_array_less(np.abs(draws.mean(0) - mean), 5 * deviation / np.sqrt(20_000))
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.15)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 1.5, 30.0, 300.0])
def test_gamma_draws_follow_the_cdf(alpha):
    """The cdf of a draw is uniform: the largest gap to that is below Kolmogorov's bound at 1e-6."""
    draws = random_gamma([4000], alpha, dtype=sg.float64, seed=1)
    probabilities = np.sort(evaluated(sg.igamma(sg.constant(alpha, sg.float64), draws)))
    gap = np.abs(probabilities - (np.arange(4000) + 0.5) / 4000).max()
    assert gap < 2.7 / np.sqrt(4000)


def test_the_derivative_of_a_gamma_draw_holds_its_cdf_fixed():
    alpha = sg.constant([0.3, 1.0, 2.5, 40.0], sg.float64)
    draws = random_gamma([], alpha, dtype=sg.float64, seed=3)
    [slope] = sg.gradients(draws, [alpha])
    step = 1e-5
    ahead, behind = (sg.igamma(alpha + sign * step, draws + sign * step * slope) for sign in (1.0, -1.0))
    np.testing.assert_allclose(*evaluated([ahead, behind]), rtol=1e-7)


@pytest.mark.takes_long
def test_derivatives_flow_through_draws_of_beta_and_dirichlet():
    """The mean of the draws moves as the mean does."""
    a = sg.constant([0.7, 2.0, 3.0])
    drawn = sg.reduce_mean(ds.Dirichlet(a).sample(20_000, seed=2)[:, 0])
    exact = ds.Dirichlet(a).mean()[0]
    np.testing.assert_allclose(*evaluated([sg.gradients(drawn, a)[0], sg.gradients(exact, a)[0]]), atol=5e-3)
    b = sg.constant(1.5)
    drawn = sg.reduce_mean(ds.Beta(b, 2.0).sample(20_000, seed=2))
    exact = ds.Beta(b, 2.0).mean()
    np.testing.assert_allclose(*evaluated([sg.gradients(drawn, b)[0], sg.gradients(exact, b)[0]]), atol=5e-3)


def test_no_derivative_flows_through_draws_of_classes():
    logits = sg.placeholder(sg.float32, [3])
    assert sg.gradients(ds.OneHotCategorical(logits, dtype=sg.float32).sample(seed=1), [logits]) == [None]


@pytest.mark.parametrize(
    "pair",
    [
        lambda: (ds.Normal(0.0, 1.0), ds.Normal(0.5, 2.0)),
        lambda: (ds.Gamma(2.0, 1.0), ds.Gamma(3.0, 2.0)),
        lambda: (ds.Beta(2.0, 3.0), ds.Beta(1.5, 1.0)),
        lambda: (ds.InverseGamma(4.0, 1.0), ds.InverseGamma(3.0, 2.0)),
        lambda: (ds.Dirichlet([1.0, 2.0, 3.0]), ds.Dirichlet([2.0, 2.0, 1.0])),
        lambda: (
            ds.MultivariateNormalTriL([0.0, 1.0], [[1.0, 0.0], [0.5, 2.0]]),
            ds.MultivariateNormalDiag([0.5, 0.0], [2.0, 1.5]),
        ),
    ],
)
def test_a_divergence_is_the_mean_of_a_difference_of_log_probs(pair):
    p, q = pair()
    x = p.sample(40_000, seed=4)
    estimated = sg.reduce_mean(p.log_prob(x) - q.log_prob(x))
    np.testing.assert_allclose(*evaluated([estimated, ds.kl_divergence(p, q)]), rtol=0.05)


class Triangular(ds.Distribution):
    """Density 2x from 0 to 1: a class with a density, a cdf and a standard deviation only."""

    def __init__(self, scale, name="Triangular"):
        self.scale = sg.convert_to_tensor(scale)
        super().__init__(
            sg.float32, ds.NOT_REPARAMETERIZED, False, True, graph_parents=[self.scale], name=name
        )

    def _prob(self, x):
        return 2.0 * x / self.scale**2

    def _cdf(self, x):
        return (x / self.scale) ** 2

    def _stddev(self):
        return self.scale / np.sqrt(18.0)


def test_methods_follow_from_the_hooks_of_a_class():
    own = Triangular([1.0, 2.0])
    names = ("log_prob", "log_cdf", "survival_function", "log_survival_function")
    found = evaluated([getattr(own, name)(0.5) for name in names] + [own.variance()])
    density, cdf = np.array([1.0, 0.25]), np.array([0.25, 0.0625])
    expected = [np.log(density), np.log(cdf), 1 - cdf, np.log(1 - cdf), np.array([1, 4]) / 18]
    for made, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-5)
    assert own.batch_shape.as_list() == [2]
    for absent in (own.mean, own.entropy, own.sample, lambda: own.quantile(0.5)):
        with pytest.raises(NotImplementedError, match="Triangular does not define"):
            absent()


def test_a_divergence_of_ones_own_serves_subclasses():
    class Narrow(Triangular):
        pass

    @ds.RegisterKL(Triangular, Triangular)
    def divergence(a, b, name=None):
        return sg.constant(7.0)

    assert evaluated(Narrow(1.0).kl_divergence(Triangular(2.0))) == 7.0


def test_a_copy_keeps_the_arguments_that_are_not_changed():
    first = ds.Normal(loc=[1.0, 2.0], scale=3.0)
    second = first.copy(scale=5.0)
    assert second.parameters == {**first.parameters, "scale": 5.0}
    np.testing.assert_array_equal(*evaluated([second.mean(), first.mean()]))


def test_a_parameter_that_is_fed_out_of_range_is_an_error_where_arguments_are_checked():
    scale = sg.placeholder(sg.float32, [2], name="s")
    density = [ds.Normal(0.0, scale, validate_args=check).log_prob(1.0) for check in (True, False)]
    assert np.isfinite(evaluated(density, {scale: [1.0, 2.0]})).all()
    assert np.isfinite(evaluated(density[1], {scale: [1.0, -1.0]})[0])
    with pytest.raises(sg.errors.InvalidArgumentError, match=r"scale must be positive, not .*1 -1"):
        evaluated(density[0], {scale: [1.0, -1.0]})


def test_a_bad_parameter_is_named_with_the_users_line():
    with pytest.raises(sg.errors.InvalidArgumentError, match=r"scale must be positive, not -1\.0") as raised:
        ds.Normal(0.0, -1.0, validate_args=True)
    assert "test_distributions.py" in str(raised.value)


def test_multinomial_needs_to_know_how_often_it_draws():
    with pytest.raises(ValueError, match="largest total_count"):
        ds.Multinomial(sg.placeholder(sg.float32, []), [0.0, 1.0]).sample()


def test_shapes_that_are_known_in_the_run_only():
    logits = sg.placeholder(sg.float32, [None, None])
    actions = ds.Categorical(logits)
    drawn, shape = evaluated(
        [actions.sample(3, seed=1), actions.batch_shape_tensor()], {logits: np.zeros((5, 2))}
    )
    assert drawn.shape == (3, 5)
    assert shape.tolist() == [5]
    assert actions.is_scalar_event().shape.as_list() == []


def test_draws_of_a_flow_have_the_density_that_they_were_drawn_with():
    ds = sg.distributions
    network = ds.bijectors.masked_autoregressive_default_template([8], activation=sg.nn.tanh)
    flow = ds.TransformedDistribution(
        ds.MultivariateNormalDiag(sg.zeros([3])), ds.bijectors.MaskedAutoregressiveFlow(network)
    )
    drawn = sg.stop_gradient(flow.sample(5, seed=1))
    back = flow.bijector.inverse(drawn)
    slopes = [sg.gradients(back[:, i], drawn)[0] for i in range(3)]
    jacobian = sg.stack(slopes, 1)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        values, densities, x, j = sess.run([drawn, flow.log_prob(drawn), back, jacobian])
    wanted = -0.5 * (x**2).sum(1) - 1.5 * np.log(2 * np.pi) + np.log(np.abs(np.linalg.det(j)))
    assert np.isfinite(values).all() and np.allclose(densities, wanted, atol=1e-4)


def test_flows_say_what_they_need():
    bijectors = sg.distributions.bijectors
    open_size = sg.placeholder(sg.float32, [2, None])
    with pytest.raises(ValueError, match="as unroll_loop=True needs it"):
        bijectors.MaskedAutoregressiveFlow(lambda y: (y, None), unroll_loop=True).forward(open_size)
    with pytest.raises(NotImplementedError, match="must be known before the graph runs"):
        bijectors.masked_dense(open_size, 4)
    assert bijectors.MaskedAutoregressiveFlow(lambda y: (None, None)).forward(open_size).shape.ndims == 2


def test_a_bijector_may_change_the_shape_of_events():
    ds = sg.distributions
    centered, b = ds.bijectors.SoftmaxCentered(), ds.bijectors
    simplex = ds.TransformedDistribution(ds.MultivariateNormalDiag(sg.zeros([2])), centered)
    assert simplex.event_shape.as_list() == [3] and simplex.sample(5).shape.as_list() == [5, 3]
    assert b.Invert(centered).forward_event_shape([3]).as_list() == [2]
    assert b.Chain([centered, b.Exp()]).inverse_event_shape([4]).as_list() == [3]
    with pytest.raises(ValueError, match="1 probabilities are of no vector"):
        centered.inverse_event_shape([1])
    with sg.Session() as sess:
        assert sess.run(simplex.event_shape_tensor()).tolist() == [3]
        assert sess.run(centered.inverse_event_shape_tensor([3])).tolist() == [2]
        assert np.allclose(sess.run(sg.reduce_sum(simplex.sample(5), -1)), 1.0)


def test_elementwise_bijectors_check_their_arguments():
    b, given = sg.distributions.bijectors, sg.placeholder(sg.float32, [2])
    with sg.Session() as sess:
        for made, bad, good in (
            (b.Softsign(validate_args=True), [0.5, 1.5], [0.5, -0.5]),
            (b.Square(validate_args=True), [-1.0, 4.0], [1.0, 4.0]),
            (b.Gumbel(validate_args=True), [0.5, 2.0], [0.5, 0.25]),
        ):
            with pytest.raises(sg.errors.InvalidArgumentError):
                made.inverse(bad)
            back = made.inverse(given)
            with pytest.raises(sg.errors.InvalidArgumentError, match="must be"):
                sess.run(back, {given: bad})
            assert np.isfinite(sess.run(back, {given: good})).all()
