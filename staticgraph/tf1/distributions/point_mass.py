"""Distributions of a single value: a number, or a vector."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.base import NOT_REPARAMETERIZED
from staticgraph.tf1.distributions.parametric import OfVectors, Parametric, constructed, kept


class _PointMass(Parametric):
    """All draws are `loc`; values within `atol + rtol * abs(loc)` count as `loc`."""

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    loc = kept("loc")
    atol = kept("atol")
    rtol = kept("rtol")

    def _build(self, loc: Any, atol: Any = None, rtol: Any = None) -> list[sg.Tensor]:
        self._loc = sg.convert_to_tensor(loc, name="loc")
        self._atol, self._rtol = (
            sg.convert_to_tensor(0 if given is None else given, dtype=self._loc.dtype)
            for given in (atol, rtol)
        )
        self._slack = self._atol if rtol is None else self._atol + self._rtol * abs(self._loc)
        return [self._loc]

    def _near(self, x: Any) -> Any:
        return abs(x - self._loc) <= self._slack

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        return sg.broadcast_to(self._loc, sg.concat([[n], sg.shape(self._loc)], 0))

    def _entropy(self) -> Any:
        return sg.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _mean(self) -> Any:
        return sg.identity(self._loc)

    def _mode(self) -> Any:
        return sg.identity(self._loc)

    def _variance(self) -> Any:
        return sg.zeros_like(self._loc)


@constructed
class Deterministic(_PointMass):
    """The number `loc`, with probability 1.

    Args:
        loc: The number.
        atol, rtol: Values within `atol + rtol * abs(loc)` count as `loc`; 0 by default.
        validate_args, allow_nan_stats, name: As for all distributions.
    """

    def _prob(self, x: Any) -> Any:
        return sg.cast(self._near(x), self.dtype)

    def _cdf(self, x: Any) -> Any:
        return sg.cast(x >= self._loc - self._slack, self.dtype)


@constructed
class VectorDeterministic(OfVectors, _PointMass):
    """The vector `loc`, with probability 1.

    Args:
        loc: The vector; the last axis lists its elements.
        atol, rtol: Elements within `atol + rtol * abs(loc)` count as those of `loc`; 0 by default.
        validate_args, allow_nan_stats, name: As for all distributions.

    Raises:
        ValueError: `loc` is a number.
    """

    def _build(self, loc: Any, atol: Any = None, rtol: Any = None) -> list[sg.Tensor]:
        parents = super()._build(loc, atol, rtol)
        if self._loc.shape.ndims == 0:
            raise misuse(ValueError, "VectorDeterministic: loc is a number", "use Deterministic")
        return parents

    def _prob(self, x: Any) -> Any:
        return sg.cast(sg.reduce_all(self._near(x), axis=-1), self.dtype)
