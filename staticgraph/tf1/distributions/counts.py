"""Distributions of how many of a number of draws fall into each class."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.random_numbers.rejection import random_gamma, random_poisson
from staticgraph.tf1.distributions.base import NOT_REPARAMETERIZED
from staticgraph.tf1.distributions.gamma import OfConcentration
from staticgraph.tf1.distributions.parameters import (
    checked,
    log_combinations,
    logits_and_probs,
    other_seed,
    parted,
    whole,
)
from staticgraph.tf1.distributions.parametric import OfVectors, Parametric, constructed, kept


def _total_count(total_count: Any, validate_args: bool) -> sg.Tensor:
    tensor = sg.convert_to_tensor(total_count, name="total_count")
    return checked(tensor, validate_args, lambda count: count >= 0, "at least 0")


def _counted(logits: sg.Tensor, total_count: sg.Tensor, n: Any, seed: int | None) -> sg.Tensor:
    """Return the numbers of draws that fall into each class, `n` times for each row of `logits`.

    Args:
        logits: The classes, in the last axis: [rows, classes].
        total_count: The number of draws for each row. Its value must be known when the graph is built.
        n: The number of samples.
        seed: The seed of the draws.

    Returns:
        The numbers of draws: [n, rows, classes].

    Raises:
        ValueError: The value of `total_count` is not known.
    """
    known = static_value(total_count)
    if known is None:
        text = "sample() must know the largest total_count when the graph is built"
        raise misuse(ValueError, text, "give total_count as a number")
    most = int(np.max(known, initial=0))
    drawn = sg.multinomial(logits, n * most, seed=seed, output_dtype=sg.int32)
    rows = sg.shape(logits)[0]
    drawn = sg.transpose(sg.reshape(drawn, sg.stack([rows, n, most])), [1, 0, 2])
    counts = sg.broadcast_to(sg.cast(total_count, sg.int32), sg.stack([rows]))
    drawn = sg.where_v2(sg.range(most) < counts[:, None], drawn, -1)
    of_class = sg.equal(drawn[..., None], sg.range(sg.shape(logits)[1]))
    return sg.reduce_sum(sg.cast(of_class, logits.dtype), axis=-2)


@constructed
class Multinomial(OfVectors):
    """Distribution of the number of draws that fall into each class, of `total_count` draws.

    The last axis of `logits` lists the classes. `total_count` has a floating type. It is a number, or one for
    each row. A sample needs a `total_count` that is known when the graph is built.
    """

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    total_count = kept("total_count")
    logits = kept("logits")
    probs = kept("probs")

    def _build(self, total_count: Any, logits: Any = None, probs: Any = None) -> list[sg.Tensor]:
        self._total_count = _total_count(total_count, self.validate_args)
        self._logits, self._probs = logits_and_probs(logits, probs, self.validate_args, multidimensional=True)
        self._mean_val = self._total_count[..., None] * self._probs
        return [self._mean_val]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.shape(self._mean_val)
        rows = sg.reshape(sg.broadcast_to(self._logits, shape), sg.stack([-1, shape[-1]]))
        counts = self._total_count
        if counts.shape.ndims:
            sizes: Any = self.batch_shape.as_list()
            counts = sg.constant(np.broadcast_to(static_value(counts), sizes).ravel())
        return sg.reshape(_counted(rows, counts, n, seed), sg.concat([[n], shape], 0))

    def _log_prob(self, counts: Any) -> Any:
        counts = parted(counts, self._total_count, self.validate_args)
        powers = sg.reduce_sum(counts * sg.nn.log_softmax(self._logits), -1)
        return powers + log_combinations(self._total_count, counts)

    def _mean(self) -> Any:
        return sg.identity(self._mean_val)

    def _variance(self) -> Any:
        return self._mean_val * (1.0 - self._probs)

    def _covariance(self) -> Any:
        return sg.matrix_set_diag(-self._mean_val[..., None] * self._probs[..., None, :], self._variance())


@constructed
class Binomial(Parametric):
    """Distribution of the number of successes in `total_count` trials of probability `probs`.

    `probs` is `sigmoid(logits)`.
    """

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    total_count = kept("total_count")
    logits = kept("logits")
    probs = kept("probs")

    def _build(self, total_count: Any, logits: Any = None, probs: Any = None) -> list[sg.Tensor]:
        self._total_count = _total_count(total_count, self.validate_args)
        self._logits, self._probs = logits_and_probs(logits, probs, self.validate_args)
        return [self._total_count, self._probs]

    def _log_prob(self, counts: Any) -> Any:
        counts = whole(counts, self.validate_args)
        counts = checked(counts, self.validate_args, operator.le, "at most total_count", self._total_count)
        failures = self._total_count - counts
        powers = sg.xlogy(counts, self._probs) + failures * sg.log1p(-self._probs)
        return powers + log_combinations(self._total_count, sg.stack([counts, failures], axis=-1))

    def _cdf(self, counts: Any) -> Any:
        below = counts < self._total_count
        failures = sg.where_v2(below, self._total_count - counts, 1.0)
        return sg.where_v2(below, sg.betainc(failures, counts + 1.0, 1.0 - self._probs), 1.0)

    def _mean(self) -> Any:
        return self._total_count * self._probs

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._probs)

    def _mode(self) -> Any:
        return sg.floor((1.0 + self._total_count) * self._probs)


@constructed
class NegativeBinomial(Parametric):
    """Distribution of the number of successes of probability `probs` before `total_count` failures.

    `probs` is `sigmoid(logits)`.
    """

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    total_count = kept("total_count")
    logits = kept("logits")
    probs = kept("probs")

    def _build(self, total_count: Any, logits: Any = None, probs: Any = None) -> list[sg.Tensor]:
        self._logits, self._probs = logits_and_probs(logits, probs, self.validate_args)
        count = sg.convert_to_tensor(total_count, name="total_count", dtype=self._probs.dtype)
        self._total_count = checked(count, self.validate_args, lambda number: number > 0, "positive")
        return [self._total_count, self._probs]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        rates = random_gamma([n], self._total_count, sg.exp(-self._logits), self.dtype, seed)
        return random_poisson(rates, [], self.dtype, other_seed(seed, "negative_binom"))

    def _log_prob(self, x: Any) -> Any:
        x = whole(x, self.validate_args)
        powers = -self._total_count * sg.nn.softplus(self._logits) - x * sg.nn.softplus(-self._logits)
        return powers + sg.lgamma(self._total_count + x) - sg.lgamma(1.0 + x) - sg.lgamma(self._total_count)

    def _cdf(self, x: Any) -> Any:
        inside = sg.betainc(self._total_count, 1.0 + sg.maximum(sg.floor(x), 0.0), sg.sigmoid(-self._logits))
        return sg.where_v2(x < 0.0, sg.zeros_like(inside), inside)

    def _mean(self) -> Any:
        return self._total_count * sg.exp(self._logits)

    def _variance(self) -> Any:
        return self._mean() / sg.sigmoid(-self._logits)

    def _mode(self) -> Any:
        return sg.maximum(sg.floor((self._total_count - 1.0) * sg.exp(self._logits)), 0.0)


@constructed
class DirichletMultinomial(OfConcentration):
    """Multinomial, whose probabilities are themselves drawn, from `Dirichlet(concentration)`."""

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    total_count = kept("total_count")

    def _build(self, total_count: Any, concentration: Any) -> list[sg.Tensor]:  # type: ignore[override]
        self._total_count = _total_count(total_count, self.validate_args)
        return super()._build(concentration)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], sg.shape(self._concentration)], 0)
        logits = sg.log(random_gamma([n], self._concentration, None, self.dtype, seed))
        rows = sg.reshape(logits, sg.stack([-1, shape[-1]]))
        counted = _counted(rows, self._total_count, 1, other_seed(seed, "dirichlet_multinomial"))
        return sg.reshape(counted, shape)

    def _log_prob(self, counts: Any) -> Any:
        counts = parted(counts, self._total_count, self.validate_args)
        ordered = sg.lbeta(self._concentration + counts) - sg.lbeta(self._concentration)
        return ordered + log_combinations(self._total_count, counts)

    def _mean(self) -> Any:
        return self._total_count[..., None] * self._probabilities()

    def _overdispersion(self) -> Any:
        """Return the ratio of the variance to that of Multinomial."""
        total = self._total_concentration
        return ((self._total_count + total) / (1.0 + total))[..., None]

    def _variance(self) -> Any:
        return self._overdispersion() * self._mean() * (1.0 - self._probabilities())

    def _covariance(self) -> Any:
        spread = (self._overdispersion() * self._mean())[..., None]
        return sg.matrix_set_diag(-spread * self._probabilities()[..., None, :], self._variance())
