"""`tf.quantization`: numbers of few bits, as they are simulated in training.

A value is clipped to two limits and rounded to one of the 2 ** num_bits steps between them. The gradient
passes through elements between the limits as if nothing was rounded, else to the limit that is exceeded.
"""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant, convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.recording.op_count import counted_as, uncounted
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation.custom_gradient import custom_gradient

__all__ = [
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to steps between two numbers.

    Args:
        inputs: A float32 tensor.
        min: The lower limit, moved such that zero is one of the steps.
        max: The upper limit, greater than `min`.
        num_bits: The number of bits, from 2 to 16.
        narrow_range: If True, there is one step less, as in [-127, 127].
        name: The name of the operation.

    Returns:
        A tensor of the shape of `inputs`, through which the gradient passes between the limits.

    Raises:
        ValueError: If `min` is not less than `max`, or `num_bits` is out of range.
    """
    _check(num_bits)
    if min >= max:
        raise misuse(ValueError, f"fake_quant_with_min_max_args: min={min} must be less than max={max}")
    with name_scope(name, "FakeQuantWithMinMaxArgs", [inputs]) as scope:
        x = convert_to_tensor(inputs, name="inputs")
        with uncounted(x.graph):  # they are attributes in TensorFlow
            low, high = constant(min, x.dtype), constant(max, x.dtype)
        return _quantized(x, low, high, num_bits, narrow_range, None, scope)


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """`inputs` rounded to steps between two tensors, which receive gradients of the elements beyond them.

    Args:
        inputs: A float32 tensor.
        min: The lower limit, a float32 tensor of one number.
        max: The upper limit.
        num_bits, narrow_range, name: As for `fake_quant_with_min_max_args`.

    Returns:
        A tensor of the shape of `inputs`.

    Raises:
        ValueError: If `min` or `max` is not a single number, or `num_bits` is out of range.
    """
    _check(num_bits)
    with name_scope(name, "FakeQuantWithMinMaxVars", [inputs, min, max]) as scope:
        return _quantized(*_operands(inputs, min, max, 0), num_bits, narrow_range, 0, scope)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """`inputs` rounded to steps between the limits of each channel, the last axis, which are vectors."""
    _check(num_bits)
    with name_scope(name, "FakeQuantWithMinMaxVarsPerChannel", [inputs, min, max]) as scope:
        return _quantized(*_operands(inputs, min, max, 1), num_bits, narrow_range, 1, scope)


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `fake_quant_with_min_max_args` by its inputs, for `gradients` of its result."""
    with name_scope(name, "FakeQuantWithMinMaxArgsGradient", [gradients, inputs]):
        dy, x = convert_to_tensor(gradients), convert_to_tensor(inputs)
        low, high = constant(min, x.dtype), constant(max, x.dtype)
        return _derivatives(dy, x, low, high, num_bits, narrow_range, None)[0]


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The gradients of `fake_quant_with_min_max_vars` by its inputs, `min` and `max`."""
    with name_scope(name, "FakeQuantWithMinMaxVarsGradient", [gradients, inputs]):
        dy, operands = convert_to_tensor(gradients), _operands(inputs, min, max, 0)
        return _derivatives(dy, *operands, num_bits, narrow_range, 0)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The gradients of `fake_quant_with_min_max_vars_per_channel` by its inputs, `min` and `max`."""
    with name_scope(name, "FakeQuantWithMinMaxVarsPerChannelGradient", [gradients, inputs]):
        dy, operands = convert_to_tensor(gradients), _operands(inputs, min, max, 1)
        return _derivatives(dy, *operands, num_bits, narrow_range, 1)


def limits(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """Return two limits, moved so that zero is one of the steps between them, and the size of a step."""
    first, last = float(narrow_range), float(2**num_bits - 1)
    step = (high - low) / (last - first)
    zero = first - low / step
    zero = ops.minimum(ops.maximum(ops.floor(zero + 0.5), first), last)
    return (first - zero) * step, (last - zero) * step, step


def rounded(x: Tensor, low: Any, high: Any, num_bits: int, narrow_range: bool, name: str | None) -> Tensor:
    """Return `x` rounded to the steps between two limits."""
    lowest, highest, step = limits(low, high, num_bits, narrow_range)
    clipped = ops.minimum(ops.maximum(x, lowest), highest)
    return ops.add(ops.floor((clipped - lowest) / step + 0.5) * step, lowest, name=name)


def _quantized(
    x: Tensor, low: Tensor, high: Tensor, num_bits: int, narrow_range: bool, kept: int | None, name: str
) -> Tensor:
    @custom_gradient
    def quantized(x: Tensor, low: Tensor, high: Tensor) -> Any:
        def gradient(dy: Tensor) -> Any:
            parts = _derivatives(dy, x, low, high, num_bits, narrow_range, kept)
            return parts if len(parts) == 3 else (*parts, None, None)

        return rounded(x, low, high, num_bits, narrow_range, None), gradient

    with counted_as(x.graph, 1):
        made: Tensor = identity(quantized(x, low, high), name=name)
    return made


def _derivatives(
    dy: Tensor, x: Tensor, low: Any, high: Any, num_bits: int, narrow_range: bool, kept: int | None
) -> tuple[Tensor, ...]:
    """Return the gradients by `x`, and unless `kept` is None by both limits, of as many axes as `kept`."""
    lowest, highest, _ = limits(low, high, num_bits, narrow_range)
    zero, below, above = ops.zeros_like(dy), x < lowest, x > highest
    inside = ops.select(ops.logical_or(below, above), zero, dy)
    if kept is None:
        return (inside,)
    rank = x.type.rank
    if rank is None:
        raise misuse(ValueError, f"fake_quant: the rank of {x.name} must be known", "call set_shape")
    axes = tuple(range(rank - kept))
    return inside, *(ops.reduce_sum(ops.select(each, dy, zero), axis=axes) for each in (below, above))


def _operands(inputs: Any, low: Any, high: Any, kept: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the operands as tensors, once the limits have the last `kept` axes of `inputs`."""
    x, low, high = map(convert_to_tensor, (inputs, low, high))
    channels = TensorShape(x.shape)[-kept:] if kept and x.shape.ndims else TensorShape([None] * kept)
    for name, limit in (("min", low), ("max", high)):
        if not limit.shape.is_compatible_with(channels):
            text = f"fake_quant: {name} has shape {limit.shape} beside inputs of shape {x.shape}"
            raise misuse(ShapeError, text, f"it must have shape {channels}")
    return x, low, high


def _check(num_bits: int) -> None:
    if not 2 <= num_bits <= 16:
        raise misuse(ValueError, f"fake_quant: num_bits={num_bits} is not from 2 to 16")
