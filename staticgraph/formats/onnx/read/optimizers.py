"""Steps of training: optimizers' updates, and gradients."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation.gradients import gradients
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, select

_TRAINING = "ai.onnx.preview.training"


def _each(
    values: tuple[Tensor, ...], parts: int, step: Callable[..., tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """Inputs come as all of the first kind, all of the second, and so on; the results too."""
    count = len(values) // parts
    if count * parts != len(values) or not count:
        raise OnnxError(f"it has {len(values)} tensors to update, which is no multiple of {parts}")
    made = [step(*values[i::count]) for i in range(count)]
    return tuple(result for kind in zip(*made, strict=True) for result in kind)


def _regularized(node: Node, x: Tensor, gradient: Tensor) -> Tensor:
    return constant(node.get("norm_coefficient", 0.0), x) * x + gradient


@operator("Adagrad", domain=_TRAINING)
def _adagrad(node: Node, rate: Tensor, count: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
    decay = constant(1, float32) + cast(count, float32) * constant(node.get("decay_factor", 0.0), float32)

    def step(x: Tensor, gradient: Tensor, squares: Tensor) -> tuple[Tensor, Tensor]:
        gradient = _regularized(node, x, gradient)
        squares = squares + gradient * gradient
        scale = ops.sqrt(squares) + constant(node.get("epsilon", 0.0), x)
        return x - cast(rate, x.dtype) / cast(decay, x.dtype) * gradient / scale, squares

    return _each(values, 3, step)


@operator("Momentum", domain=_TRAINING)
def _momentum(node: Node, rate: Tensor, count: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
    """The first gradient counts in full, those after it by beta."""

    def step(x: Tensor, gradient: Tensor, velocity: Tensor) -> tuple[Tensor, Tensor]:
        alpha, beta = constant(node.required("alpha"), x), constant(node.required("beta"), x)
        gradient = _regularized(node, x, gradient)
        share = select(count > constant(0, count), beta, ops.ones_like(beta))
        velocity = alpha * velocity + share * gradient
        change = gradient + alpha * velocity if node.required("mode") == "nesterov" else velocity
        return x - cast(rate, x.dtype) * change, velocity

    return _each(values, 3, step)


@operator("Adam", domain=_TRAINING)
def _adam(node: Node, rate: Tensor, count: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
    first, second = node.get("alpha", 0.9), node.get("beta", 0.999)

    def step(x: Tensor, gradient: Tensor, mean: Tensor, square: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, b, one = (constant(value, x) for value in (first, second, 1))
        gradient = _regularized(node, x, gradient)
        mean = a * mean + (one - a) * gradient
        square = b * square + (one - b) * gradient * gradient
        times = cast(count, x.dtype)
        corrected = ops.sqrt(one - ops.pow(b, times)) / (one - ops.pow(a, times))
        factor = select(count > constant(0, count), corrected, ops.ones_like(corrected))
        change = (
            cast(rate, x.dtype) * factor * mean / (ops.sqrt(square) + constant(node.get("epsilon", 0.0), x))
        )
        return (one - constant(node.get("norm_coefficient_post", 0.0), x)) * (x - change), mean, square

    return _each(values, 4, step)


@operator("Gradient", domain=_TRAINING)
def _gradient(node: Node, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Derivatives of one tensor by others, at the values that those have."""
    xs = [node.scope.find(name) for name in node.required("xs")]
    if any(x is not given for x, given in zip(xs, inputs, strict=False)):
        raise node.unsupported("derivatives at other values than those of the graph are not supported")
    found = gradients(node.scope.find(node.required("y")), xs)
    return tuple(ops.zeros_like(x) if g is None else g for x, g in zip(xs, found, strict=True))
