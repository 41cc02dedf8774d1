"""Distributions of `loc + scale * z`, where z has a standard form: Normal, Laplace, Logistic and others."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.random_numbers.rejection import random_gamma
from staticgraph.tf1.distributions import special
from staticgraph.tf1.distributions.divergence import RegisterKL
from staticgraph.tf1.distributions.parameters import floating, other_seed, positive, undefined
from staticgraph.tf1.distributions.parametric import Parametric, constructed, kept


class LocationScale(Parametric):
    """A standard form moved by `loc` and stretched by `scale`; subclasses define its hooks."""

    _STDDEV: ClassVar[float] = math.nan
    _ENTROPY: ClassVar[float]

    loc = kept("loc")
    scale = kept("scale")

    def _build(self, loc: Any, scale: Any) -> list[sg.Tensor]:
        self._loc, self._scale = floating(loc=loc, scale=scale)
        self._scale = positive(self._scale, self.validate_args)
        return [self._loc, self._scale]

    def _standard_sample(self, shape: Any, seed: int | None) -> Any:
        raise NotImplementedError

    def _standard_log_prob(self, z: Any) -> Any:
        raise NotImplementedError

    def _standard_log_cdf(self, z: Any) -> Any:
        raise NotImplementedError

    def _standard_cdf(self, z: Any) -> Any:
        return sg.exp(self._standard_log_cdf(z))

    def _standard_quantile(self, p: Any) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define quantile")

    def _standardized(self, x: Any) -> Any:
        with sg.name_scope("standardize"):
            return (x - self._loc) / self._scale

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], self.batch_shape_tensor()], 0)
        return self._standard_sample(shape, seed) * self._scale + self._loc

    def _log_prob(self, x: Any) -> Any:
        return self._standard_log_prob(self._standardized(x)) - sg.log(self._scale)

    def _cdf(self, x: Any) -> Any:
        return self._standard_cdf(self._standardized(x))

    def _log_cdf(self, x: Any) -> Any:
        return self._standard_log_cdf(self._standardized(x))

    # All of them are symmetric.

    def _survival_function(self, x: Any) -> Any:
        return self._standard_cdf(-self._standardized(x))

    def _log_survival_function(self, x: Any) -> Any:
        return self._standard_log_cdf(-self._standardized(x))

    def _quantile(self, p: Any) -> Any:
        return self._standard_quantile(p) * self._scale + self._loc

    def _entropy(self) -> Any:
        return self._spread(self._ENTROPY + sg.log(self._scale))

    def _mean(self) -> Any:
        return self._spread(self._loc)

    def _mode(self) -> Any:
        return self._spread(self._loc)

    def _stddev(self) -> Any:
        return self._spread(self._STDDEV * self._scale)


@constructed
class Normal(LocationScale):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> normal = sg.distributions.Normal(0.0, [1.0, 2.0])
    >>> normal.log_prob(0.5), normal
    (<sg.Tensor 'Normal/log_prob/sub:0' shape=(2,) dtype=float32>,
     <Normal 'Normal/' batch_shape=(2,) event_shape=() dtype=float32>)
    """

    _STDDEV = 1.0
    _ENTROPY = 0.5 * math.log(2.0 * math.pi * math.e)

    def _spread(self, statistic: Any) -> sg.Tensor:
        count_more(statistic.graph, 0 if self.batch_shape.is_fully_defined() else -2)  # ones like a parameter
        return super()._spread(statistic)

    def _stddev(self) -> Any:
        with counted_as(self._scale.graph, 0):
            scale = self._STDDEV * self._scale
        return self._spread(scale)

    def _standard_sample(self, shape: Any, seed: int | None) -> Any:
        return sg.random_normal(shape, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Any:
        unnormalized = -0.5 * sg.square(self._standardized(x))
        return unnormalized - (0.5 * math.log(2.0 * math.pi) + sg.log(self._scale))

    def _standard_cdf(self, z: Any) -> Any:
        return special.ndtr(z)

    def _standard_log_cdf(self, z: Any) -> Any:
        return special.log_ndtr(z)

    def _standard_quantile(self, p: Any) -> Any:
        return special.ndtri(p)


@constructed
class NormalWithSoftplusScale(Normal):
    """Normal, whose scale is `softplus(scale)`."""

    def _build(self, loc: Any, scale: Any) -> list[sg.Tensor]:
        return super()._build(loc, sg.nn.softplus(scale, name="softplus_scale"))


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Normal, b: Normal, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        ratio = sg.square(a.scale / b.scale)
        return sg.square((a.loc - b.loc) / b.scale) / 2.0 + (ratio - 1.0 - sg.log(ratio)) / 2.0


@constructed
class Laplace(LocationScale):
    """The Laplace distribution of density `exp(-|x - loc| / scale) / (2 * scale)`."""

    _STDDEV = math.sqrt(2.0)
    _ENTROPY = 1.0 + math.log(2.0)

    def _standard_sample(self, shape: Any, seed: int | None) -> Any:
        above = np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        uniform = sg.random_uniform(shape, float(above), 1.0, self.dtype, seed=seed)
        count_more(uniform.graph, -1)
        return -sg.sign(uniform) * sg.log1p(-sg.abs(uniform))

    def _standard_log_prob(self, z: Any) -> Any:
        return -sg.abs(z) - math.log(2.0)

    def _standard_cdf(self, z: Any) -> Any:
        below, above = 0.5 * sg.exp(sg.minimum(z, 0.0)), 1.0 - 0.5 * sg.exp(-sg.maximum(z, 0.0))
        return sg.where_v2(z < 0.0, below, above)

    def _standard_log_cdf(self, z: Any) -> Any:
        return special.log_cdf_laplace(z)


@constructed
class LaplaceWithSoftplusScale(Laplace):
    """Laplace, whose scale is `softplus(scale)`."""

    def _build(self, loc: Any, scale: Any) -> list[sg.Tensor]:
        return super()._build(loc, sg.nn.softplus(scale, name="softplus_scale"))


@constructed
class Logistic(LocationScale):
    """The distribution whose `cdf` is `sigmoid((x - loc) / scale)`."""

    _STDDEV = math.pi / math.sqrt(3.0)
    _ENTROPY = 2.0

    def _standard_sample(self, shape: Any, seed: int | None) -> Any:
        uniform = _open_uniform(shape, self.dtype, seed)
        count_more(uniform.graph, 1)
        return sg.log(uniform) - sg.log1p(-uniform)

    def _standard_log_prob(self, z: Any) -> Any:
        return -z - 2.0 * sg.nn.softplus(-z)

    def _standard_cdf(self, z: Any) -> Any:
        return sg.sigmoid(z)

    def _standard_log_cdf(self, z: Any) -> Any:
        return -sg.nn.softplus(-z)

    def _standard_quantile(self, p: Any) -> Any:
        return sg.log(p) - sg.log1p(-p)


@constructed
class Cauchy(LocationScale):
    """The Cauchy distribution, which has no mean and no variance."""

    _ENTROPY = math.log(4.0 * math.pi)

    def _standard_sample(self, shape: Any, seed: int | None) -> Any:
        return self._standard_quantile(sg.random_uniform(shape, 0.0, 1.0, self.dtype, seed=seed))

    def _standard_log_prob(self, z: Any) -> Any:
        return -math.log(math.pi) - sg.log1p(sg.square(z))

    def _standard_cdf(self, z: Any) -> Any:
        return sg.atan(z) / math.pi + 0.5

    def _standard_log_cdf(self, z: Any) -> Any:
        return sg.log1p(2.0 / math.pi * sg.atan(z)) - math.log(2.0)

    def _standard_quantile(self, p: Any) -> Any:
        return sg.tan(math.pi * (p - 0.5))

    def _mean(self) -> Any:
        if not self.allow_nan_stats:
            raise misuse(ValueError, "a Cauchy distribution has no mean and no variance")
        return self._spread(undefined(self._loc))

    _stddev = _variance = _mean


def _open_uniform(shape: Any, dtype: sg.DType, seed: int | None) -> Any:
    """Numbers greater than 0 and less than 1."""
    return sg.random_uniform(shape, float(np.finfo(dtype.as_numpy_dtype).tiny), 1.0, dtype, seed=seed)


@constructed
class StudentT(Parametric):
    """Student's t with `df` degrees of freedom, moved by `loc` and stretched by `scale`.

    The mean is NaN where `df <= 1`; the variance is infinite where `1 < df <= 2`, and NaN below.
    """

    df = kept("df")
    loc = kept("loc")
    scale = kept("scale")

    def _build(self, df: Any, loc: Any, scale: Any) -> list[sg.Tensor]:
        self._df, self._loc, self._scale = floating(df=df, loc=loc, scale=scale)
        self._df = positive(self._df, self.validate_args)
        return [self._df, self._loc, self._scale]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        normal = sg.random_normal(sg.concat([[n], self.batch_shape_tensor()], 0), dtype=self.dtype, seed=seed)
        df = self._spread(self._df)
        gamma = random_gamma([n], 0.5 * df, 0.5, self.dtype, other_seed(seed, "student_t"))
        return normal * sg.rsqrt(gamma / df) * self._scale + self._loc

    def _log_prob(self, x: Any) -> Any:
        half = 0.5 * (self._df + 1.0)
        z = (x - self._loc) / self._scale
        size = sg.log(sg.abs(self._scale)) + 0.5 * sg.log(self._df) + 0.5 * math.log(math.pi)
        size += sg.lgamma(0.5 * self._df) - sg.lgamma(half)
        return -half * sg.log1p(sg.square(z) / self._df) - size

    def _cdf(self, x: Any) -> Any:
        z = (x - self._loc) / sg.abs(self._scale)
        below = 0.5 * sg.betainc(0.5 * self._df, 0.5, self._df / (sg.square(z) + self._df))
        return sg.where_v2(z < 0.0, below, 1.0 - below)

    def _entropy(self) -> Any:
        half, more = 0.5 * self._df, 0.5 * (self._df + 1.0)
        beta = sg.lgamma(half) + 0.5 * math.log(math.pi) - sg.lgamma(more)
        spread = more * (sg.digamma(more) - sg.digamma(half))
        return self._spread(sg.log(sg.abs(self._scale)) + 0.5 * sg.log(self._df) + beta + spread)

    def _mean(self) -> Any:
        return self._where_defined(self._spread(self._df) > 1.0, self._spread(self._loc))

    def _variance(self) -> Any:
        df = self._spread(self._df)
        finite = sg.square(self._scale) * df / sg.where_v2(df > 2.0, df - 2.0, sg.ones_like(df))
        wide = sg.where_v2(df > 2.0, finite, sg.constant(np.inf, self.dtype))
        return self._where_defined(df > 1.0, wide)

    def _mode(self) -> Any:
        return sg.identity(self._loc)


@constructed
class StudentTWithAbsDfSoftplusScale(StudentT):
    """StudentT with `floor(abs(df))` degrees of freedom, whose scale is `softplus(scale)`."""

    def _build(self, df: Any, loc: Any, scale: Any) -> list[sg.Tensor]:
        scale = sg.nn.softplus(scale, name="softplus_scale")
        return super()._build(sg.floor(sg.abs(df)), loc, scale)
