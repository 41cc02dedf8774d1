"""Activation functions, with TensorFlow 1's names. Most are the ops themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.recording.op_count import BackwardCount, count_backward, counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import functions_of

# These are the ops themselves. A file of ops is imported when one of its ops is first used.
_OPS = {"elu", "relu", "relu6", "selu", "sigmoid", "softplus", "softsign", "tanh"}
if TYPE_CHECKING:
    elu = ops.elu
    relu = ops.relu
    relu6 = ops.relu6
    selu = ops.selu
    sigmoid = ops.sigmoid
    softplus = ops.softplus
    softsign = ops.softsign
    tanh = ops.tanh


def __getattr__(name: str) -> Any:
    if name not in _OPS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(ops, name)


_casts = functions_of("staticgraph.arrays.casts", "cast")  # of integers alone


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """x where it is positive, alpha * x elsewhere. Integers are converted to float32.

    >>> sg.Session().run(sg.nn.leaky_relu([-1.0, 2.0]))
    array([-0.2,  2. ], dtype=float32)
    """
    with name_scope(name, "LeakyRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = _casts.cast(features, float32)
        # TF1 keeps the slope in single precision whatever the tensor has.
        return ops.leaky_relu(features, alpha=float(np.float32(alpha)), name=scope)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """`relu` of x and of -x side by side along `axis`, which becomes twice as large."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return ops.relu(ops.concat([features, -features], axis=axis, name=scope))


def swish(features: Any) -> Tensor:
    """x * sigmoid(x)."""
    features = convert_to_tensor(features, name="features")
    with counted_as(features.graph, 4):
        share = ops.sigmoid(features)
        outputs = features * share
    count_backward(share, BackwardCount(-1))  # TensorFlow has one function for both, and nothing to add
    count_backward(outputs, BackwardCount(9))
    return outputs


silu = swish  # TensorFlow 2 and PyTorch call it so


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """x times the normal distribution at x: x / 2 * (1 + erf(x / sqrt(2))), Hendrycks and Gimpel 2016.

    TensorFlow 1 does not have it; the arguments are TensorFlow 2's.

    Args:
        features: A tensor of floats, or what becomes one.
        approximate: If True, tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) in place of the error function.
        name: The name of the operation.

    >>> sg.Session().run(sg.nn.gelu([-1.0, 0.0, 2.0]))
    array([-0.15865526,  0.        ,  1.9544997 ], dtype=float32)
    """
    with name_scope(name, "Gelu", [features]) as scope:
        x = convert_to_tensor(features, name="features")
        if approximate:
            inner = ops.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
        else:
            inner = ops.erf(x * math.sqrt(0.5))
        return ops.multiply(0.5 * x, 1.0 + inner, name=scope)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), finite for every finite x."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return ops.negative(ops.softplus(-x), name=scope)


def hard_sigmoid(x: Any) -> Tensor:
    """0.2 * x + 0.5 between 0 and 1."""
    return ops.maximum(ops.minimum(convert_to_tensor(x) * 0.2 + 0.5, 1.0), 0.0)


# The name of an op, or another function.
_BY_NAME: dict[str, str | Callable[[Any], Tensor]] = {
    "elu": "elu",
    "exponential": "exp",
    "gelu": gelu,
    "hard_sigmoid": hard_sigmoid,
    "linear": convert_to_tensor,
    "relu": "relu",
    "selu": "selu",
    "sigmoid": "sigmoid",
    "silu": swish,
    "softmax": "softmax",
    "softplus": "softplus",
    "softsign": "softsign",
    "swish": swish,
    "tanh": "tanh",
}


def activation_of(activation: Any) -> Any:
    """Return the function that a layer or a cell applies, None if `activation` is None.

    Args:
        activation: A function, the name of one, or None.

    Raises:
        TypeError: If `activation` is something else.
        ValueError: If there is no function of that name.
    """
    if activation is None or callable(activation):
        return activation
    if not isinstance(activation, str):
        raise misuse(TypeError, f"the activation is {shown(activation)}", "it is a function: sg.nn.relu")
    if activation not in _BY_NAME:
        names = ", ".join(_BY_NAME)
        raise misuse(ValueError, f"Unknown activation function: {activation}", f"it is one of {names}")
    found = _BY_NAME[activation]
    return getattr(ops, found) if isinstance(found, str) else found
