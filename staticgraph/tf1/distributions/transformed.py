"""A distribution whose draws pass through a bijector."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.base import Distribution
from staticgraph.tf1.distributions.bijectors import Bijector, Identity


class TransformedDistribution(Distribution):
    """`bijector.forward(x)`, where x is drawn from `distribution`.

    >>> import staticgraph.distributions as ds
    >>> log_normal = ds.TransformedDistribution(ds.Normal(0.0, 1.0), ds.bijectors.Exp(), name="LogNormal")
    >>> log_normal.log_prob([0.5, 2.0]).shape
    TensorShape([Dimension(2)])
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if batch_shape is not None or event_shape is not None:
            text = "TransformedDistribution takes its shapes from the distribution"
            raise misuse(NotImplementedError, text, "give parameters of the wanted shape")
        self._bijector = Identity() if bijector is None else bijector
        self._distribution = distribution
        prefix = "" if bijector is None else bijector.name
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            graph_parents=distribution._graph_parents,
            name=name or prefix + distribution.name.rstrip("/").rpartition("/")[2],
        )

    distribution: Distribution = read_only("distribution")
    bijector: Bijector = read_only("bijector")

    def _batch_shape(self) -> Any:
        return self._distribution.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._distribution.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self._bijector.forward_event_shape(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Any:
        return self._bijector.forward_event_shape_tensor(self._distribution.event_shape_tensor())

    def _draw(self, n: Any, seed: int | None) -> Any:
        return self._distribution.sample(n, seed=seed)

    def _transformed(self, drawn: Any) -> Any:
        return self._bijector.forward(drawn)

    def _log_prob(self, y: Any) -> Any:
        growth = self._bijector.inverse_log_det_jacobian(y, event_ndims=self.event_shape.ndims or 0)
        return self._distribution.log_prob(self._bijector.inverse(y)) + growth

    def _prob(self, y: Any) -> Any:
        growth = self._bijector.inverse_log_det_jacobian(y, event_ndims=self.event_shape.ndims or 0)
        return self._distribution.prob(self._bijector.inverse(y)) * sg.exp(growth)

    def _log_cdf(self, y: Any) -> Any:
        return self._distribution.log_cdf(self._bijector.inverse(y))

    def _cdf(self, y: Any) -> Any:
        return self._distribution.cdf(self._bijector.inverse(y))

    def _log_survival_function(self, y: Any) -> Any:
        return self._distribution.log_survival_function(self._bijector.inverse(y))

    def _survival_function(self, y: Any) -> Any:
        return self._distribution.survival_function(self._bijector.inverse(y))

    def _quantile(self, p: Any) -> Any:
        return self._bijector.forward(self._distribution.quantile(p))

    def _entropy(self) -> Any:
        if not self._bijector.is_constant_jacobian:
            raise misuse(NotImplementedError, f"the entropy after {self._bijector.name} has no formula")
        shape = sg.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        somewhere = sg.zeros(shape, dtype=self.dtype)
        ndims = self.event_shape.ndims or 0
        return self._distribution.entropy() - self._bijector.inverse_log_det_jacobian(somewhere, ndims)
