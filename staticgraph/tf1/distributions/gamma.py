"""The gamma distribution and those made of it: Exponential, Chi2, InverseGamma, Beta, Dirichlet."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.random_numbers.rejection import random_gamma
from staticgraph.tf1.distributions.divergence import RegisterKL
from staticgraph.tf1.distributions.parameters import checked, demanded, floating, other_seed, positive
from staticgraph.tf1.distributions.parametric import OfVectors, Parametric, constructed, kept


@constructed
class Gamma(Parametric):
    """The distribution of density proportional to `x ** (concentration - 1) * exp(-rate * x)`."""

    concentration = kept("concentration")
    rate = kept("rate")

    def _build(self, concentration: Any, rate: Any) -> list[sg.Tensor]:
        made = floating(concentration=concentration, rate=rate)
        self._concentration, self._rate = (positive(value, self.validate_args) for value in made)
        return [self._concentration, self._rate]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        return random_gamma([n], self._concentration, self._rate, self.dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        x = positive(x, self.validate_args)
        return sg.xlogy(self._concentration - 1.0, x) - self._rate * x - self._log_normalization()

    def _log_normalization(self) -> Any:
        return sg.lgamma(self._concentration) - self._concentration * sg.log(self._rate)

    def _cdf(self, x: Any) -> Any:
        return sg.igamma(self._concentration, self._rate * x)

    def _entropy(self) -> Any:
        a = self._concentration
        return a - sg.log(self._rate) + sg.lgamma(a) + (1.0 - a) * sg.digamma(a)

    def _mean(self) -> Any:
        return self._concentration / self._rate

    def _variance(self) -> Any:
        return self._concentration / sg.square(self._rate)

    def _stddev(self) -> Any:
        return sg.sqrt(self._concentration) / self._rate

    def _mode(self) -> Any:
        mode = (self._concentration - 1.0) / self._rate
        return self._where_defined(self._concentration > 1.0, mode)


@constructed
class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma of `softplus(concentration)` and `softplus(rate)`."""

    def _build(self, concentration: Any, rate: Any) -> list[sg.Tensor]:
        concentration = sg.nn.softplus(concentration, name="softplus_concentration")
        return super()._build(concentration, sg.nn.softplus(rate, name="softplus_rate"))


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_gamma_gamma", [p.concentration, p.rate, q.concentration, q.rate]):
        a, b = p.concentration, q.concentration
        return (
            (a - b) * sg.digamma(a)
            + sg.lgamma(b)
            - sg.lgamma(a)
            + b * (sg.log(p.rate) - sg.log(q.rate))
            + a * (q.rate / p.rate - 1.0)
        )


@constructed
class Exponential(Gamma):
    """The distribution of density `rate * exp(-rate * x)`."""

    def _build(self, rate: Any) -> list[sg.Tensor]:  # type: ignore[override]
        rate = sg.convert_to_tensor(rate, name="rate")
        return super()._build(sg.ones([], rate.dtype), rate)

    def _log_survival_function(self, x: Any) -> Any:
        return -self._rate * x

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], sg.shape(self._rate)], 0)
        least = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        return -sg.log(sg.random_uniform(shape, least, 1.0, self.dtype, seed=seed)) / self._rate


@constructed
class ExponentialWithSoftplusRate(Exponential):
    """Exponential, whose rate is `softplus(rate)`."""

    def _build(self, rate: Any) -> list[sg.Tensor]:  # type: ignore[override]
        return super()._build(sg.nn.softplus(rate, name="softplus_rate"))


@constructed
class Chi2(Gamma):
    """The distribution of a sum of `df` squares of standard normal numbers."""

    df = kept("df")

    def _build(self, df: Any) -> list[sg.Tensor]:  # type: ignore[override]
        self._df = sg.convert_to_tensor(df, name="df")
        half = sg.constant(0.5, self._df.dtype)
        return super()._build(0.5 * self._df, half)


@constructed
class InverseGamma(Gamma):
    """The distribution of `1 / x`, where x has the distribution `Gamma(concentration, rate)`."""

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        return 1.0 / super()._sample_n(n, seed)

    def _log_prob(self, x: Any) -> Any:
        x = positive(x, self.validate_args)
        return -(1.0 + self._concentration) * sg.log(x) - self._rate / x - self._log_normalization()

    def _cdf(self, x: Any) -> Any:
        return sg.igammac(self._concentration, self._rate / x)

    def _entropy(self) -> Any:
        a = self._concentration
        return a + sg.log(self._rate) + sg.lgamma(a) - (1.0 + a) * sg.digamma(a)

    def _mean(self) -> Any:
        mean = self._rate / (self._concentration - 1.0)
        return self._where_defined(self._concentration > 1.0, mean)

    def _variance(self) -> Any:
        less = self._concentration - 1.0
        variance = sg.square(self._rate) / (sg.square(less) * (self._concentration - 2.0))
        return self._where_defined(self._concentration > 2.0, variance)

    def _stddev(self) -> Any:
        return sg.sqrt(self._variance())

    def _mode(self) -> Any:
        return self._rate / (1.0 + self._concentration)


@RegisterKL(InverseGamma, InverseGamma)
def _kl_inverse_gamma(p: InverseGamma, q: InverseGamma, name: str | None = None) -> Any:
    """The divergence does not change when both draws are inverted."""
    return _kl_gamma_gamma(p, q, name)


@constructed
class Beta(Parametric):
    """The distribution of density proportional to `x ** (concentration1 - 1) * (1 - x) ** (concentration0 -
    1)`.
    """

    concentration1 = kept("concentration1")
    concentration0 = kept("concentration0")
    total_concentration = kept("total_concentration")

    def _build(self, concentration1: Any, concentration0: Any) -> list[sg.Tensor]:
        made = floating(concentration1=concentration1, concentration0=concentration0)
        self._concentration1, self._concentration0 = (positive(value, self.validate_args) for value in made)
        count_more(get_default_graph(), -2)  # both are used as they are
        self._total_concentration = self._concentration1 + self._concentration0
        return [self._total_concentration]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        ones, zeros = self._spread(self._concentration1), self._spread(self._concentration0)
        first = random_gamma([n], ones, None, self.dtype, seed)
        return first / (first + random_gamma([n], zeros, None, self.dtype, other_seed(seed, "beta")))

    def _log_prob(self, x: Any) -> Any:
        x = checked(x, self.validate_args, lambda x: (x > 0) & (x < 1), "between 0 and 1")
        powers = sg.xlogy(self._concentration1 - 1.0, x) + (self._concentration0 - 1.0) * sg.log1p(-x)
        return powers - self._log_normalization()

    def _log_normalization(self) -> Any:
        parts = sg.lgamma(self._concentration1) + sg.lgamma(self._concentration0)
        return parts - sg.lgamma(self._total_concentration)

    def _cdf(self, x: Any) -> Any:
        return sg.betainc(self._concentration1, self._concentration0, x)

    def _entropy(self) -> Any:
        a, b, total = self._concentration1, self._concentration0, self._total_concentration
        parts = (a - 1.0) * sg.digamma(a) + (b - 1.0) * sg.digamma(b)
        return self._log_normalization() - parts + (total - 2.0) * sg.digamma(total)

    def _mean(self) -> Any:
        return self._concentration1 / self._total_concentration

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._total_concentration)

    def _mode(self) -> Any:
        mode = (self._concentration1 - 1.0) / (self._total_concentration - 2.0)
        exists = (self._concentration1 > 1.0) & (self._concentration0 > 1.0)
        return self._where_defined(exists, mode)


@constructed
class BetaWithSoftplusConcentration(Beta):
    """Beta of `softplus(concentration1)` and `softplus(concentration0)`."""

    def _build(self, concentration1: Any, concentration0: Any) -> list[sg.Tensor]:
        concentration1 = sg.nn.softplus(concentration1, name="softplus_concentration1")
        return super()._build(concentration1, sg.nn.softplus(concentration0, name="softplus_concentration0"))


@RegisterKL(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_beta_beta", [p.total_concentration, q.total_concentration]):
        return (
            q._log_normalization()
            - p._log_normalization()
            + (p.concentration1 - q.concentration1) * sg.digamma(p.concentration1)
            + (p.concentration0 - q.concentration0) * sg.digamma(p.concentration0)
            - (p.total_concentration - q.total_concentration) * sg.digamma(p.total_concentration)
        )


class OfConcentration(OfVectors):
    """A distribution with a positive `concentration` for each element."""

    concentration = kept("concentration")
    total_concentration = kept("total_concentration")

    def _build(self, concentration: Any) -> list[sg.Tensor]:
        [concentration] = floating(concentration=concentration)
        self._concentration = positive(concentration, self.validate_args)
        count_more(get_default_graph(), -1)  # it is used as it is
        self._total_concentration = sg.reduce_sum(self._concentration, -1)
        return [self._concentration]

    def _probabilities(self) -> Any:
        return self._concentration / self._total_concentration[..., None]


def _of_parts(x: sg.Tensor, validate_args: bool) -> sg.Tensor:
    """Positive numbers, in the last axis, which add up to 1 but for rounding."""
    x = positive(x, validate_args)
    if not validate_args:
        return x
    slack = 20 * np.finfo(x.dtype.as_numpy_dtype).eps  # TensorFlow's
    return demanded(x, sg.abs(sg.reduce_sum(x, -1) - 1.0) <= slack, "the parts must add up to 1: ")


@constructed
class Dirichlet(OfConcentration):
    """Vectors of positive numbers that add up to 1; the last axis of `concentration` lists their parts."""

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        parts = random_gamma([n], self._concentration, None, self.dtype, seed)
        return parts / sg.reduce_sum(parts, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        x = _of_parts(x, self.validate_args)
        powers = sg.reduce_sum(sg.xlogy(self._concentration - 1.0, x), -1)
        return powers - sg.lbeta(self._concentration)

    def _entropy(self) -> Any:
        a, total = self._concentration, self._total_concentration
        parts = sg.reduce_sum((a - 1.0) * sg.digamma(a), axis=-1)
        return sg.lbeta(a) + (total - self._count()) * sg.digamma(total) - parts

    def _mean(self) -> Any:
        return self._probabilities()

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._total_concentration[..., None])

    def _covariance(self) -> Any:
        mean = self._mean()
        scaled = mean / (1.0 + self._total_concentration[..., None])
        return sg.matrix_set_diag(-scaled[..., None] * mean[..., None, :], self._variance())

    def _mode(self) -> Any:
        mode = (self._concentration - 1.0) / (self._total_concentration[..., None] - self._count())
        exists = sg.reduce_all(self._concentration > 1.0, axis=-1, keepdims=True)
        return self._where_defined(exists, mode)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_dirichlet_dirichlet", [p.concentration, q.concentration]):
        a, b = p.concentration, q.concentration
        slope = sg.digamma(a) - sg.digamma(p.total_concentration[..., None])
        return sg.reduce_sum((a - b) * slope, axis=-1) - sg.lbeta(a) + sg.lbeta(b)
