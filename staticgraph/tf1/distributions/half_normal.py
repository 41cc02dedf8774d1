"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.tf1.distributions import special
from staticgraph.tf1.distributions.parameters import floating, positive
from staticgraph.tf1.distributions.parametric import Parametric, constructed, kept


@constructed
class HalfNormal(Parametric):
    """The absolute value of a normal number of mean 0 and standard deviation `scale`.

    Args:
        scale: A number above 0.
        validate_args, allow_nan_stats, name: As for all distributions.
    """

    scale = kept("scale")

    def _build(self, scale: Any) -> list[sg.Tensor]:
        [self._scale] = floating(scale=scale)
        self._scale = positive(self._scale, self.validate_args)
        return [self._scale]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], self.batch_shape_tensor()], 0)
        return abs(sg.random_normal(shape, dtype=self.dtype, seed=seed) * self._scale)

    def _prob(self, x: Any) -> Any:
        density = math.sqrt(2.0 / math.pi) / self._scale * sg.exp(-0.5 * sg.square(x / self._scale))
        return density * sg.cast(x >= 0, self.dtype)

    def _cdf(self, x: Any) -> Any:
        return 2.0 * special.ndtr(sg.nn.relu(x) / self._scale) - 1.0

    def _quantile(self, p: Any) -> Any:
        return self._scale * special.ndtri((p + 1.0) / 2.0)

    def _entropy(self) -> Any:
        return 0.5 * sg.log(math.pi / 2.0 * sg.square(self._scale)) + 0.5

    def _mean(self) -> Any:
        return self._scale * math.sqrt(2.0 / math.pi)

    def _mode(self) -> Any:
        return sg.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _variance(self) -> Any:
        return sg.square(self._scale) * (1.0 - 2.0 / math.pi)
