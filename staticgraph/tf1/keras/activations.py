"""Functions between layers."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.mathematics.math_ops import clip_by_value, exp, greater
from staticgraph.mathematics.reductions import reduce_max, reduce_sum
from staticgraph.tf1.keras.serialization import find, get_custom_objects

__all__ = [
    "deserialize",
    "elu",
    "exponential",
    "get",
    "hard_sigmoid",
    "linear",
    "relu",
    "selu",
    "serialize",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
]


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Positive numbers that sum to one along `axis`. ValueError for a vector."""
    x = convert_to_tensor(x)
    if x.shape.ndims == 2:
        return nn.softmax(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise misuse(ValueError, f"softmax needs at least two axes, {x.name} has {x.shape.ndims}")
    powers = exp(x - reduce_max(x, axis, keepdims=True))
    return powers / reduce_sum(powers, axis, keepdims=True)


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """`x` above zero, `alpha * (exp(x) - 1)` below."""
    x = convert_to_tensor(x)
    straight = nn.elu(x)
    if alpha == 1:
        return straight
    positive = cast(greater(x, 0.0), x.dtype)
    return straight * (positive + alpha * (1.0 - positive))


def selu(x: Any) -> Tensor:
    """The scaled exponential unit, which keeps mean 0 and variance 1 from layer to layer."""
    return nn.selu(x)


def softplus(x: Any) -> Tensor:
    """`log(exp(x) + 1)`."""
    return nn.softplus(x)


def softsign(x: Any) -> Tensor:
    """`x / (abs(x) + 1)`."""
    return nn.softsign(x)


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: Any = 0) -> Tensor:
    """`x` from `threshold` on, at most `max_value`; below the threshold `alpha * (x - threshold)`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.keras.activations.relu(sg.constant([-2.0, 1.0, 9.0]), alpha=0.5, max_value=6))
    array([-1.,  1.,  6.], dtype=float32)
    """
    x = convert_to_tensor(x)
    below = nn.relu(threshold - x) if isinstance(alpha, Tensor) or alpha != 0 else None
    above = x * cast(greater(x, float(threshold)), x.dtype) if threshold else nn.relu(x)
    if max_value is not None:
        above = clip_by_value(above, 0.0, float(max_value))
    return above if below is None else above - alpha * below


def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent."""
    return nn.tanh(x)


def sigmoid(x: Any) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return nn.sigmoid(x)


def hard_sigmoid(x: Any) -> Tensor:
    """`0.2 * x + 0.5` within 0 and 1."""
    return clip_by_value(convert_to_tensor(x) * 0.2 + 0.5, 0.0, 1.0)


def exponential(x: Any) -> Tensor:
    """`exp(x)`."""
    return exp(x)


def linear(x: Any) -> Any:
    """`x` itself."""
    return x


_OTHERS = {"deserialize", "get", "serialize"}
_TABLE: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in _OTHERS} | {
    "relu6": nn.relu6,
    "swish": nn.swish,
}


def serialize(activation: Any) -> Any:
    """The name of an activation."""
    if hasattr(activation, "get_config"):
        return {"class_name": type(activation).__name__, "config": activation.get_config()}
    for name, made in (_TABLE | get_custom_objects()).items():
        if made is activation:
            return name
    return getattr(activation, "__name__", None) or getattr(activation, "name", None)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The activation of this name."""
    return find(name, _TABLE, custom_objects, "activation")


def get(identifier: Any) -> Any:
    """The activation that a name stands for; `linear` for None; a function is one already."""
    if identifier is None:
        return linear
    return identifier if callable(identifier) else deserialize(identifier)


show_public_names(__name__)
