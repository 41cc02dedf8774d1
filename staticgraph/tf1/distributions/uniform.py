"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.tf1.distributions.parameters import checked, floating
from staticgraph.tf1.distributions.parametric import Parametric, constructed, kept


@constructed
class Uniform(Parametric):
    """Numbers from `low` to below `high`, all as probable.

    >>> sg.distributions.Uniform(low=[0.0, 1.0], high=3.0).mean()
    <sg.Tensor 'Uniform/mean/truediv:0' shape=(2,) dtype=float32>
    """

    low = kept("low")
    high = kept("high")

    def _build(self, low: Any = 0.0, high: Any = 1.0) -> list[sg.Tensor]:
        self._low, self._high = floating(low=low, high=high)
        self._high = checked(
            self._high, self.validate_args, lambda high, low: high > low, "above low", self._low
        )
        return [self._low, self._high]

    def range(self, name: str = "range") -> sg.Tensor:
        """`high - low`."""
        with self._name_scope(name):
            return self._high - self._low

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], self.batch_shape_tensor()], 0)
        drawn = sg.random_uniform(shape, dtype=self.dtype, seed=seed)
        return self._low + self.range() * drawn

    def _prob(self, x: Any) -> Any:
        inside = sg.where_v2((x < self._low) | (x >= self._high), sg.zeros_like(x), sg.ones_like(x))
        return sg.where_v2(sg.is_nan(x), x, inside / self.range())

    def _cdf(self, x: Any) -> Any:
        return sg.where_v2(
            x < self._low, 0.0, sg.where_v2(x >= self._high, 1.0, (x - self._low) / self.range())
        )

    def _quantile(self, p: Any) -> Any:
        return self._low + self.range() * p

    def _entropy(self) -> Any:
        return sg.log(self.range())

    def _mean(self) -> Any:
        return (self._low + self._high) / 2.0

    def _variance(self) -> Any:
        return sg.square(self.range()) / 12.0

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12.0)
