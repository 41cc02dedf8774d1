"""A distribution whose draws pass through a bijector."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.tf1.distributions.base import Distribution
from staticgraph.tf1.distributions.bijectors import Bijector, Identity


class TransformedDistribution(Distribution):
    """`bijector.forward(x)`, where x is drawn from `distribution`.

    Args:
        distribution: The distribution of x.
        bijector: The change of x; none by default.
        batch_shape: The shape of a batch of independent x, if those of `distribution` have no batch.
        event_shape: The shape of a draw of independent x, if those of `distribution` are scalars.
        validate_args, name: As for all distributions.

    Raises:
        ValueError: A shape is given, and `distribution` has one of its own.

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
        self._own_batch = _replacing(batch_shape, distribution.batch_shape, "batch_shape")
        self._own_event = _replacing(event_shape, distribution.event_shape, "event_shape")
        self._bijector = Identity() if bijector is None else bijector
        self._distribution = distribution
        prefix = "" if bijector is None else bijector.name
        given = sum(shape is not None for shape in (batch_shape, event_shape))
        count_more(sg.get_default_graph(), 28 + given)  # TensorFlow's conditions on the shapes that are given
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
        if self._own_batch is not None:
            return sg.TensorShape(static_value(self._own_batch, partial=True))
        return self._distribution.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._distribution.batch_shape_tensor() if self._own_batch is None else self._own_batch

    def _event_shape(self) -> Any:
        inner = self._distribution.event_shape
        if self._own_event is not None:
            inner = sg.TensorShape(static_value(self._own_event, partial=True))
        return self._bijector.forward_event_shape(inner)

    def _event_shape_tensor(self) -> Any:
        inner = self._distribution.event_shape_tensor() if self._own_event is None else self._own_event
        return self._bijector.forward_event_shape_tensor(inner)

    def _draw(self, n: Any, seed: int | None) -> Any:
        inner, parts = self._distribution, [self._own_batch, self._own_event]
        sizes = [part for part in parts if part is not None]
        if not sizes:
            return inner.sample(n, seed=seed)
        if not self._is_batch_of_inner():
            return inner.sample(sg.concat([[n], *sizes], 0), seed=seed)
        drawn = inner.sample(sg.concat([self._own_event, [n]], 0), seed=seed)  # the batch is last
        return _rotated(drawn, self._own_event_rank())

    def _own_event_rank(self) -> int:
        return 0 if self._own_event is None else int(self._own_event.shape[0].value)

    def _is_batch_of_inner(self) -> bool:
        """Return True if elements of a draw are draws of a distribution that has a batch."""
        return (
            self._own_event is not None
            and self._own_batch is None
            and self._distribution.batch_shape.ndims != 0
        )

    def _of_inner(self, statistic: Any, reduce: Any, y: Any) -> Any:
        """Return a density of x, that of independent elements reduced."""
        x, rank = self._bijector.inverse(y), self._own_event_rank()
        if rank == 0:
            return statistic(x)
        if self._is_batch_of_inner():
            return reduce(statistic(_rotated(x, -rank)), axis=list(range(rank)))
        return reduce(statistic(x), axis=list(range(-rank, 0)))

    def _transformed(self, drawn: Any) -> Any:
        return self._bijector.forward(drawn)

    def _log_prob(self, y: Any) -> Any:
        growth = self._bijector.inverse_log_det_jacobian(y, event_ndims=self.event_shape.ndims or 0)
        return self._of_inner(self._distribution.log_prob, sg.reduce_sum, y) + growth

    def _prob(self, y: Any) -> Any:
        growth = self._bijector.inverse_log_det_jacobian(y, event_ndims=self.event_shape.ndims or 0)
        return self._of_inner(self._distribution.prob, sg.reduce_prod, y) * sg.exp(growth)

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
        entropy = self._distribution.entropy()
        if self._own_event is not None:
            entropy *= sg.cast(sg.reduce_prod(self._own_event), entropy.dtype)
        if self._own_batch is not None:
            entropy = sg.broadcast_to(entropy, self._own_batch)
        return entropy - self._bijector.inverse_log_det_jacobian(somewhere, ndims)


def _replacing(shape: Any, inner: Any, name: str) -> Any:
    """Return a shape to use in place of the empty one of a distribution, an int32 vector, or None."""
    if shape is None:
        return None
    made = sg.convert_to_tensor(shape, dtype=sg.int32, name=name)
    if made.shape.ndims != 1 or made.shape[0].value is None:
        raise misuse(ValueError, f"{name} must be a vector of known length, not {shape!r}")
    if inner.ndims != 0:
        text = f"{name} is given, and the distribution has the {name} {inner} of its own"
        raise misuse(ValueError, text, f"leave out {name}")
    return made


def _rotated(x: Any, axes: int) -> Any:
    """Return a tensor whose first `axes` axes have become the last ones; the other way round if negative."""
    order = list(range(x.shape.ndims))
    return sg.transpose(x, order[axes:] + order[:axes])
