"""Constraints of weights, enforced after each training step."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import reshape
from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.mathematics.math_ops import clip_by_value, greater_equal, sqrt, square
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.tf1.keras.serialization import deserialize_keras_object, resolve, serialize_keras_object
from staticgraph.tf1.keras.settings import epsilon


class Constraint:
    """A function from a weight to the nearest one that is allowed."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        return {}


def _norms(w: Any, axis: Any) -> Any:
    return sqrt(reduce_sum(square(w), axis, keepdims=True))


class MaxNorm(Constraint):
    """Norms along `axis` of at most `max_value`."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        return w * (clip_by_value(norms, 0.0, float(self.max_value)) / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """No negative weights: these become zero."""

    def __call__(self, w: Any) -> Any:
        w = convert_to_tensor(w)
        return w * cast(greater_equal(w, 0.0), w.dtype)


class UnitNorm(Constraint):
    """Norms of one along `axis`."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (epsilon() + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Norms along `axis` moved by `rate` towards the range from `min_value` to `max_value`."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        allowed = clip_by_value(norms, float(self.min_value), float(self.max_value))
        return w * ((self.rate * allowed + (1 - self.rate) * norms) / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


class RadialConstraint(Constraint):
    """Square kernels of shape [size, size, inputs, outputs] that depend on the distance from their middle.

    The numbers of the row from the middle to the edge hold for the whole ring.
    """

    def __call__(self, w: Any) -> Any:
        w = convert_to_tensor(w)
        if w.shape.ndims != 4 or w.shape[0] != w.shape[1]:
            raise misuse(ValueError, f"a radial constraint needs a square kernel of four axes, not {w.shape}")
        size, *_ = w.shape.as_list()
        middle, odd = divmod(size, 2)
        middle = middle if odd else middle - 1
        far = [
            [max(abs(2 * r - size + 1), abs(2 * c - size + 1)) // 2 for c in range(size)] for r in range(size)
        ]
        rows = [
            reshape(w[middle, middle + d if odd else middle + 1 + d], [1, 1, *w.shape.as_list()[2:]])
            for d in range(middle + 1)
        ]
        out: Any = 0
        for distance, row in enumerate(rows):
            ring = [[[[float(d == distance)]] for d in line] for line in far]
            out = out + row * convert_to_tensor(ring, w.dtype)
        return out


max_norm, min_max_norm, non_neg = MaxNorm, MinMaxNorm, NonNeg
radial_constraint, unit_norm = RadialConstraint, UnitNorm

_CLASSES = (MaxNorm, MinMaxNorm, NonNeg, RadialConstraint, UnitNorm)
_TABLE: dict[str, Any] = {made.__name__: made for made in _CLASSES} | {
    "max_norm": MaxNorm,
    "min_max_norm": MinMaxNorm,
    "non_neg": NonNeg,
    "radial_constraint": RadialConstraint,
    "unit_norm": UnitNorm,
}


def serialize(constraint: Any) -> Any:
    """The config of a constraint."""
    return serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The constraint of a config."""
    return deserialize_keras_object(config, _TABLE, custom_objects, "constraint")


def get(identifier: Any) -> Any:
    """The constraint that a name, a config or a class stands for; a function is one already."""
    return resolve(identifier, _TABLE, "constraint")


show_public_names(__name__)
