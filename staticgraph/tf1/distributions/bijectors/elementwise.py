"""Bijectors of each element by itself."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.tf1.distributions.bijectors.base import Bijector
from staticgraph.tf1.distributions.parameters import checked, positive


class PowerTransform(Bijector):
    """`(1 + x * power) ** (1 / power)`, and `exp(x)` where the power is 0."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power < 0:
            raise misuse(ValueError, f"power={power} is negative")
        self._power = power
        super().__init__(validate_args=validate_args, name=name)

    power: float = read_only("power")

    def _forward(self, x: Any) -> Any:
        return sg.exp(x) if self._power == 0.0 else (1.0 + x * self._power) ** (1.0 / self._power)

    def _inverse(self, y: Any) -> Any:
        return sg.log(y) if self._power == 0.0 else (y**self._power - 1.0) / self._power

    def _log_growth(self, x: Any, y: Any) -> Any:
        return x if self._power == 0.0 else (1.0 / self._power - 1.0) * sg.log1p(x * self._power)


class Exp(PowerTransform):
    """`exp(x)`. `TransformedDistribution(Normal(loc, scale), Exp())` is the log-normal distribution."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(0.0, validate_args, name)
        count_more(sg.get_default_graph(), 1)  # the power


class Sigmoid(Bijector):
    """`1 / (1 + exp(-x))`."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return sg.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return sg.log(y) - sg.log1p(-y)

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -sg.nn.softplus(-x) - sg.nn.softplus(x)


class Softplus(Bijector):
    """`log(1 + exp(x))`; with a `hinge_softness` c, `c * log(1 + exp(x / c))`."""

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        self._softness = 1.0 if hinge_softness is None else hinge_softness
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return self._softness * sg.nn.softplus(x / self._softness)

    def _inverse(self, y: Any) -> Any:
        y = y / self._softness
        return self._softness * (y + sg.log(-sg.expm1(-y)))

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -sg.nn.softplus(-x / self._softness)


class AffineScalar(Bijector):
    """`scale * x + shift`, each 1 and 0 by default."""

    def __init__(
        self, shift: Any = None, scale: Any = None, validate_args: bool = False, name: str = "affine_scalar"
    ) -> None:
        self._shift = None if shift is None else sg.convert_to_tensor(shift, name="shift")
        self._scale = None if scale is None else sg.convert_to_tensor(scale, name="scale")
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, name=name)

    shift: Any = read_only("shift")
    scale: Any = read_only("scale")

    def _forward(self, x: Any) -> Any:
        x = x if self._scale is None else self._scale * x
        return x if self._shift is None else x + self._shift

    def _inverse(self, y: Any) -> Any:
        y = y if self._shift is None else y - self._shift
        return y if self._scale is None else y / self._scale

    def _log_growth(self, x: Any, y: Any) -> Any:
        return sg.constant(0.0, x.dtype) if self._scale is None else sg.log(sg.abs(self._scale))


class Softsign(Bijector):
    """`x / (1 + abs(x))`, between -1 and 1.

    Args:
        validate_args: If True, an inverse of what is not between -1 and 1 is an InvalidArgumentError.
        name: The name of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return x / (1.0 + sg.abs(x))

    def _inverse(self, y: Any) -> Any:
        y = checked(y, self._validate_args, lambda v: (v > -1.0) & (v < 1.0), "between -1 and 1")
        return y / (1.0 - sg.abs(y))

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -2.0 * sg.log1p(sg.abs(x))


class Square(Bijector):
    """`x ** 2` of numbers that are not negative.

    Args:
        validate_args: If True, a negative number is an InvalidArgumentError.
        name: The name of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _checked(self, x: Any) -> Any:
        return checked(x, self._validate_args, lambda v: v >= 0.0, "non-negative")

    def _forward(self, x: Any) -> Any:
        return sg.square(self._checked(x))

    def _inverse(self, y: Any) -> Any:
        return sg.sqrt(self._checked(y))

    def _log_growth(self, x: Any, y: Any) -> Any:
        return math.log(2.0) + sg.log(x)


class Gumbel(Bijector):
    """`exp(-exp(-(x - loc) / scale))`, the distribution function of the Gumbel distribution.

    Args:
        loc: A number or a tensor, 0 by default.
        scale: A positive number or tensor, 1 by default.
        validate_args: If True, a scale that is not positive, and an inverse of what is not between 0 and 1,
            is an InvalidArgumentError.
        name: The name of its operations.
    """

    def __init__(
        self, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool = False, name: str = "gumbel"
    ) -> None:
        with sg.name_scope(name):
            self._loc = sg.convert_to_tensor(loc, name="loc")
            self._scale = positive(sg.convert_to_tensor(scale, name="scale"), validate_args)
        super().__init__(validate_args=validate_args, name=name)

    loc: Any = read_only("loc")
    scale: Any = read_only("scale")

    def _forward(self, x: Any) -> Any:
        return sg.exp(-sg.exp(-(x - self._loc) / self._scale))

    def _inverse(self, y: Any) -> Any:
        return self._loc - self._scale * sg.log(-sg.log(_unit(y, self)))

    def _log_growth(self, x: Any, y: Any) -> Any:
        z = (x - self._loc) / self._scale
        return -z - sg.exp(-z) - sg.log(self._scale)


def _unit(y: Any, bijector: Bijector) -> Any:
    """Return a probability, checked to be one if the bijector validates its arguments."""
    return checked(y, bijector.validate_args, lambda v: (v >= 0.0) & (v <= 1.0), "from 0 to 1")
