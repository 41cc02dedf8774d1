"""A distribution of which some dimensions of the batch count as those of one draw."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.tf1.distributions.base import Distribution
from staticgraph.tf1.distributions.divergence import RegisterKL, kl_divergence


class Independent(Distribution):
    """`distribution`, the last dimensions of whose batch are part of a draw: its elements are independent.

    Args:
        distribution: A distribution whose batch has a known rank.
        reinterpreted_batch_ndims: How many dimensions; by default all but the first.
        validate_args, name: As for all distributions.

    Raises:
        ValueError: The batch has not so many dimensions, or its rank is not known.

    >>> pixels = sg.distributions.Independent(sg.distributions.Bernoulli(logits=sg.zeros([8, 28, 28])))
    >>> pixels.log_prob(pixels.sample()).shape
    TensorShape([Dimension(8)])
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        rank = distribution.batch_shape.ndims
        if rank is None:
            raise misuse(ValueError, "Independent: the rank of the batch must be known")
        count = max(0, rank - 1) if reinterpreted_batch_ndims is None else int(reinterpreted_batch_ndims)
        if not 0 <= count <= rank:
            text = f"Independent: reinterpreted_batch_ndims is {count}, the batch has {rank} dimensions"
            raise misuse(ValueError, text)
        self._distribution, self._count, self._kept = distribution, count, rank - count
        count_more(get_default_graph(), 1)  # the number of dimensions
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            graph_parents=distribution._graph_parents,
            name=name or "Independent" + distribution.name.rstrip("/").rpartition("/")[2],
        )

    distribution: Distribution = read_only("distribution")
    reinterpreted_batch_ndims: int = read_only("count", "How many dimensions of the batch are of a draw.")

    def _batch_shape(self) -> Any:
        return self._distribution.batch_shape[: self._kept]

    def _batch_shape_tensor(self) -> Any:
        return self._distribution.batch_shape_tensor()[: self._kept]

    def _event_shape(self) -> Any:
        return self._distribution.batch_shape[self._kept :].concatenate(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Any:
        inner = self._distribution
        return sg.concat([inner.batch_shape_tensor()[self._kept :], inner.event_shape_tensor()], 0)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        return self._distribution.sample(n, seed=seed)

    def _summed(self, statistic: Any) -> Any:
        return sg.reduce_sum(statistic, axis=list(range(-self._count, 0))) if self._count else statistic

    def _log_prob(self, x: Any) -> Any:
        return self._summed(self._distribution.log_prob(x))

    def _entropy(self) -> Any:
        return self._summed(self._distribution.entropy())

    def _mean(self) -> Any:
        return self._distribution.mean()

    def _mode(self) -> Any:
        return self._distribution.mode()

    def _variance(self) -> Any:
        return self._distribution.variance()

    def _stddev(self) -> Any:
        return self._distribution.stddev()


@RegisterKL(Independent, Independent)
def _kl_independent(a: Independent, b: Independent, name: str | None = None) -> Any:
    if a._count != b._count:
        raise misuse(NotImplementedError, "the divergence of draws of different ranks is not known")
    with sg.name_scope(name, "kl_independent"):
        return a._summed(kl_divergence(a.distribution, b.distribution))
