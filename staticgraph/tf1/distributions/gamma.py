"""The gamma distribution and those made of it: Exponential, Chi2, InverseGamma, Beta, Dirichlet."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.gamma_sampling import random_gamma
from staticgraph.tf1.distributions import operations as sg
from staticgraph.tf1.distributions.base import FULLY_REPARAMETERIZED, Distribution
from staticgraph.tf1.distributions.divergence import RegisterKL
from staticgraph.tf1.distributions.parameters import checked, floating, other_seed, positive, undefined

__all__ = [
    "Beta",
    "BetaWithSoftplusConcentration",
    "Chi2",
    "Dirichlet",
    "Exponential",
    "ExponentialWithSoftplusRate",
    "Gamma",
    "GammaWithSoftplusConcentrationRate",
    "InverseGamma",
]


class Gamma(Distribution):
    """The distribution of density proportional to `x ** (concentration - 1) * exp(-rate * x)`."""

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:  # fmt: skip
        with sg.name_scope(name, values=[concentration, rate]) as scope:
            made = floating(concentration=concentration, rate=rate)
            self._concentration, self._rate = (positive(value, validate_args) for value in made)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats,
            graph_parents=[self._concentration, self._rate], name=scope,
        )  # fmt: skip

    @property
    def concentration(self) -> sg.Tensor:
        return self._concentration

    @property
    def rate(self) -> sg.Tensor:
        return self._rate

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
        return sg.where_v2(self._concentration > 1.0, mode, undefined(mode))


class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma of `softplus(concentration)` and `softplus(rate)`."""

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:  # fmt: skip
        with sg.name_scope(name) as scope:
            concentration = sg.nn.softplus(concentration, name="softplus_concentration")
            rate = sg.nn.softplus(rate, name="softplus_rate")
            super().__init__(concentration, rate, validate_args, allow_nan_stats, scope)


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_gamma_gamma", [p.concentration, p.rate, q.concentration, q.rate]):
        a, b = p.concentration, q.concentration
        return (
            (a - b) * sg.digamma(a) + sg.lgamma(b) - sg.lgamma(a)
            + b * (sg.log(p.rate) - sg.log(q.rate)) + a * (q.rate / p.rate - 1.0)
        )  # fmt: skip


class Exponential(Gamma):
    """The distribution of density `rate * exp(-rate * x)`."""

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        with sg.name_scope(name, values=[rate]) as scope:
            rate = sg.convert_to_tensor(rate, name="rate")
            super().__init__(sg.ones([], rate.dtype), rate, validate_args, allow_nan_stats, scope)

    def _log_survival_function(self, x: Any) -> Any:
        return -self._rate * x

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], sg.shape(self._rate)], 0)
        least = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        return -sg.log(sg.random_uniform(shape, least, 1.0, self.dtype, seed=seed)) / self._rate


class ExponentialWithSoftplusRate(Exponential):
    """Exponential, whose rate is `softplus(rate)`."""

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:  # fmt: skip
        with sg.name_scope(name) as scope:
            rate = sg.nn.softplus(rate, name="softplus_rate")
            super().__init__(rate, validate_args, allow_nan_stats, scope)


class Chi2(Gamma):
    """The distribution of a sum of `df` squares of standard normal numbers."""

    def __init__(
        self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        with sg.name_scope(name, values=[df]) as scope:
            self._df = sg.convert_to_tensor(df, name="df")
            half = sg.constant(0.5, self._df.dtype)
            super().__init__(0.5 * self._df, half, validate_args, allow_nan_stats, scope)

    @property
    def df(self) -> sg.Tensor:
        return self._df


class InverseGamma(Gamma):
    """The distribution of `1 / x`, where x has the distribution `Gamma(concentration, rate)`."""

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:  # fmt: skip
        super().__init__(concentration, rate, validate_args, allow_nan_stats, name)

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
        return sg.where_v2(self._concentration > 1.0, mean, undefined(mean))

    def _variance(self) -> Any:
        less = self._concentration - 1.0
        variance = sg.square(self._rate) / (sg.square(less) * (self._concentration - 2.0))
        return sg.where_v2(self._concentration > 2.0, variance, undefined(variance))

    def _stddev(self) -> Any:
        return sg.sqrt(self._variance())

    def _mode(self) -> Any:
        return self._rate / (1.0 + self._concentration)


@RegisterKL(InverseGamma, InverseGamma)
def _kl_inverse_gamma(p: InverseGamma, q: InverseGamma, name: str | None = None) -> Any:
    """The divergence does not change when both draws are inverted."""
    return _kl_gamma_gamma(p, q, name)


class Beta(Distribution):
    """The distribution of density proportional to `x ** (concentration1 - 1) * (1 - x) ** (concentration0 -
    1)`.
    """

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Beta",
    ) -> None:  # fmt: skip
        with sg.name_scope(name, values=[concentration1, concentration0]) as scope:
            made = floating(concentration1=concentration1, concentration0=concentration0)
            self._concentration1, self._concentration0 = (positive(value, validate_args) for value in made)
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            self._concentration1.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats,
            graph_parents=[self._total_concentration], name=scope,
        )  # fmt: skip

    @property
    def concentration1(self) -> sg.Tensor:
        return self._concentration1

    @property
    def concentration0(self) -> sg.Tensor:
        return self._concentration0

    @property
    def total_concentration(self) -> sg.Tensor:
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        first = random_gamma([n], self._spread(self._concentration1), None, self.dtype, seed)
        seed = other_seed(seed, "beta")
        return first / (first + random_gamma([n], self._spread(self._concentration0), None, self.dtype, seed))

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
        return sg.where_v2(exists, mode, undefined(mode))


class BetaWithSoftplusConcentration(Beta):
    """Beta of `softplus(concentration1)` and `softplus(concentration0)`."""

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "BetaWithSoftplusConcentration",
    ) -> None:  # fmt: skip
        with sg.name_scope(name) as scope:
            concentration1 = sg.nn.softplus(concentration1, name="softplus_concentration1")
            concentration0 = sg.nn.softplus(concentration0, name="softplus_concentration0")
            super().__init__(concentration1, concentration0, validate_args, allow_nan_stats, scope)


@RegisterKL(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_beta_beta", [p.total_concentration, q.total_concentration]):
        return (
            q._log_normalization() - p._log_normalization()
            + (p.concentration1 - q.concentration1) * sg.digamma(p.concentration1)
            + (p.concentration0 - q.concentration0) * sg.digamma(p.concentration0)
            - (p.total_concentration - q.total_concentration) * sg.digamma(p.total_concentration)
        )  # fmt: skip


class Dirichlet(Distribution):
    """Vectors of positive numbers that add up to 1; the last axis of `concentration` lists their parts."""

    _PARAMETER_NDIMS = 1

    def __init__(
        self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:  # fmt: skip
        with sg.name_scope(name, values=[concentration]) as scope:
            [concentration] = floating(concentration=concentration)
            self._concentration = positive(concentration, validate_args)
            self._total_concentration = sg.reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats,
            graph_parents=[self._concentration], name=scope,
        )  # fmt: skip

    @property
    def concentration(self) -> sg.Tensor:
        return self._concentration

    @property
    def total_concentration(self) -> sg.Tensor:
        return self._total_concentration

    def _event_shape(self) -> Any:
        return self._concentration.shape.with_rank_at_least(1)[-1:]

    def _event_shape_tensor(self) -> Any:
        return sg.shape(self._concentration)[-1:]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        parts = random_gamma([n], self._concentration, None, self.dtype, seed)
        return parts / sg.reduce_sum(parts, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        x = positive(x, self.validate_args)
        powers = sg.reduce_sum(sg.xlogy(self._concentration - 1.0, x), -1)
        return powers - sg.lbeta(self._concentration)

    def _entropy(self) -> Any:
        a, total = self._concentration, self._total_concentration
        k = sg.cast(self.event_shape_tensor()[0], self.dtype)
        parts = sg.reduce_sum((a - 1.0) * sg.digamma(a), axis=-1)
        return sg.lbeta(a) + (total - k) * sg.digamma(total) - parts

    def _mean(self) -> Any:
        return self._concentration / self._total_concentration[..., None]

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._total_concentration[..., None])

    def _covariance(self) -> Any:
        mean = self._mean()
        scaled = mean / (1.0 + self._total_concentration[..., None])
        return sg.matrix_set_diag(-scaled[..., None] * mean[..., None, :], self._variance())

    def _mode(self) -> Any:
        k = sg.cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self._concentration - 1.0) / (self._total_concentration[..., None] - k)
        exists = sg.reduce_all(self._concentration > 1.0, axis=-1, keepdims=True)
        return sg.where_v2(exists, mode, undefined(mode))


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_dirichlet_dirichlet", [p.concentration, q.concentration]):
        a, b = p.concentration, q.concentration
        slope = sg.digamma(a) - sg.digamma(p.total_concentration[..., None])
        return sg.reduce_sum((a - b) * slope, axis=-1) - sg.lbeta(a) + sg.lbeta(b)
