"""Mixtures of distributions of one family: the last batch axis of one distribution counts the components."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.base import NOT_REPARAMETERIZED, Distribution


class MixtureSameFamily(Distribution):
    """A draw from component k of a batch, where k is drawn from a Categorical.

    Args:
        mixture_distribution: A Categorical, of scalar batch shape or that of the mixture.
        components_distribution: A distribution whose last batch axis counts the components. Its other batch
            axes are those of the mixture.
        validate_args: True checks values while the graph runs.
        allow_nan_stats: False makes an undefined statistic an error instead of NaN.
        name: The name of the distribution.

    Raises:
        ValueError: The numbers of components differ, or batch shapes do.

    >>> import staticgraph.distributions as ds
    >>> two = ds.MixtureSameFamily(ds.Categorical(probs=[0.3, 0.7]), ds.Normal([-1.0, 1.0], [0.1, 0.5]))
    >>> round(two.mean().eval(session=sg.Session()).item(), 3)
    0.4
    """

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        if not mixture_distribution.dtype.is_integer or mixture_distribution.event_shape.ndims not in (
            None,
            0,
        ):
            text = f"mixture_distribution is {mixture_distribution!r}: it must draw single integers"
            raise misuse(ValueError, text)
        batch = components_distribution.batch_shape.with_rank_at_least(1)
        of_mixture = mixture_distribution.batch_shape
        if of_mixture.ndims and not of_mixture.is_compatible_with(batch[:-1]):
            text = f"mixture_distribution has batch shape {of_mixture}, and the components {batch[:-1]}"
            raise misuse(ValueError, text)
        classes = mixture_distribution.logits.shape.with_rank_at_least(1)[-1].value
        if None not in (classes, batch[-1].value) and classes != batch[-1].value:
            text = f"mixture_distribution has {classes} classes, and there are {batch[-1]} components"
            raise misuse(ValueError, text)
        self._mixture_distribution = mixture_distribution
        self._components_distribution = components_distribution
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            graph_parents=[mixture_distribution.logits],
            name=name,
        )

    mixture_distribution: Any = read_only("mixture_distribution")
    components_distribution: Any = read_only("components_distribution")

    def _batch_shape(self) -> Any:
        return self._components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _batch_shape_tensor(self) -> Any:
        return self._components_distribution.batch_shape_tensor()[:-1]

    def _event_shape(self) -> Any:
        return self._components_distribution.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._components_distribution.event_shape_tensor()

    @property
    def _event_ndims(self) -> int:
        ndims = self.event_shape.ndims
        if ndims is None:
            raise misuse(ValueError, f"{self.name}: the rank of an event must be known")
        return int(ndims)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        drawn = self._components_distribution.sample(n)  # [n, B, k, E]; TensorFlow leaves the seed out too
        logits = self._mixture_distribution.logits
        kept = sg.one_hot(self._mixture_distribution.sample(n), sg.shape(logits)[-1], dtype=drawn.dtype)
        if not self._mixture_distribution.batch_shape.ndims:  # one choice for all of the batch
            for _ in range(self.batch_shape.ndims or 0):
                kept = sg.expand_dims(kept, 1)
        return sg.reduce_sum(drawn * self._per_event(kept), axis=-1 - self._event_ndims)

    def _log_prob(self, x: Any) -> Any:
        return self._log_total(self._components_distribution.log_prob(self._per_component(x)))

    def _log_cdf(self, x: Any) -> Any:
        return self._log_total(self._components_distribution.log_cdf(self._per_component(x)))

    def _log_total(self, terms: Any) -> Any:
        return sg.reduce_logsumexp(terms + sg.nn.log_softmax(self._mixture_distribution.logits), axis=-1)

    def _mean(self) -> Any:
        return self._average(self._components_distribution.mean(), self._event_ndims)

    def _variance(self) -> Any:
        components = self._components_distribution
        spread = sg.square(components.mean() - self._per_component(self._mean()))
        return self._average(components.variance() + spread, self._event_ndims)

    def _covariance(self) -> Any:
        if self._event_ndims != 1:
            raise misuse(NotImplementedError, f"{self.name}: only vectors have a covariance")
        components = self._components_distribution
        apart = components.mean() - self._per_component(self._mean())
        spread = apart[..., None, :] * apart[..., None]
        return self._average(components.covariance() + spread, 2)

    def _average(self, statistic: Any, ndims: int) -> Any:
        """The mean over components of a statistic with that many axes behind those of the batch."""
        weights = self._mixture_distribution.probs
        for _ in range(ndims):
            weights = weights[..., None]
        return sg.reduce_sum(weights * statistic, axis=-1 - ndims)

    def _per_event(self, x: Any) -> Any:
        for _ in range(self._event_ndims):
            x = x[..., None]
        return x

    def _per_component(self, x: Any) -> Any:
        """A value of an event for each component: with an axis of size 1 before those of the event."""
        return sg.expand_dims(x, -1 - self._event_ndims)
