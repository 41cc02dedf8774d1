"""`tf.quantization.quantize_and_dequantize`: numbers as those of few bits and one scale represent them."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant, convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import whole_of
from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.errors import DtypeError, InvalidArgumentError, misuse, shown
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation.custom_gradient import custom_gradient

__all__ = ["quantize_and_dequantize"]

_ROUND = {"HALF_TO_EVEN": ops.rint, "HALF_UP": lambda x: ops.floor(x + 0.5)}


def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """`input` rounded to multiples of one step, as many as whole numbers of few bits have.

    Zero is a multiple. The step is the least one with which both limits are represented.

    Args:
        input: A tensor of floats.
        input_min: The lower limit if `range_given`, one number.
        input_max: The upper limit if `range_given`, one number.
        signed_input: If the whole numbers have a sign; otherwise they begin at 0.
        num_bits: The number of bits, from 1 to 62, or 61 with a sign.
        range_given: If the limits are given; otherwise they are the least and the largest element. Elements
            beyond given limits are clipped.
        round_mode: "HALF_TO_EVEN", or "HALF_UP" for halves that go up.
        name: The name of the operation.
        narrow_range: If True, the least whole number is one more, as in [-127, 127].

    Returns:
        A tensor like `input`, through which the gradient passes as if nothing was rounded.

    Raises:
        TypeError: `input` is not of floats.
        InvalidArgumentError: The number of bits or the mode is not possible, or the limits are not in order.

    >>> import staticgraph.compat.tf1 as tf
    >>> x = tf.constant([-1.0, 0.3, 0.61])
    >>> with tf.Session() as sess:
    ...     sess.run(tf.quantization.quantize_and_dequantize(x, -1.0, 1.0, num_bits=3, range_given=True))
    array([-1.        ,  0.33333334,  0.6666667 ], dtype=float32)
    """
    bits = whole_of(num_bits, "num_bits")
    if not 1 <= bits <= 62 - bool(signed_input):
        text = f"num_bits is out of range: {bits} with signed_input {signed_input}"
        raise misuse(InvalidArgumentError, text)
    if round_mode not in _ROUND:
        text = f"Round mode string must be 'HALF_TO_EVEN' or 'HALF_UP', is {shown(round_mode)}"
        raise misuse(InvalidArgumentError, text)
    with name_scope(name, "QuantizeAndDequantizeV2", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype not in FLOATING:
            raise misuse(DtypeError, f"quantize_and_dequantize takes floats, and not {x.dtype}")
        limits = [convert_to_tensor(limit, x.dtype) for limit in (input_min, input_max)]
        known = [static_value(limit) for limit in limits]
        if range_given and None not in known and known[0] > known[1]:
            text = f"Invalid range: input_min {known[0]} > input_max {known[1]}"
            raise misuse(InvalidArgumentError, text)
        least = 0 if not signed_input else -(2 ** (bits - 1)) + bool(narrow_range)
        largest = 2 ** (bits - signed_input) - 1

        @custom_gradient
        def quantized(x: Tensor) -> Any:
            made = _quantized(x, limits if range_given else None, least, largest, _ROUND[round_mode])
            return made, lambda dy: dy

        with counted_as(x.graph, 1):
            made: Tensor = identity(quantized(x), name=scope)
    return made


def _quantized(x: Tensor, limits: Any, least: int, largest: int, rounded: Any) -> Tensor:
    """Multiples of the step, between limits if these are given."""
    low, high = (ops.reduce_min(x), ops.reduce_max(x)) if limits is None else limits
    first, last = constant(float(least), x.dtype), constant(float(largest), x.dtype)
    most = constant(float(x.dtype.max), x.dtype)
    one = ops.ones_like(low)
    by_low = ops.select(first * low > 0, first / ops.select(first * low > 0, low, one), most)
    by_high = ops.select(last * high > 0, last / ops.select(last * high > 0, high, one), most)
    from_low = by_low < by_high
    scale = ops.select(from_low, by_low, by_high)
    unit = ops.select(from_low, low / (first if least else one), high / (last if largest else one))
    if limits is not None:
        low = ops.select(from_low, low, first * unit)
        high = ops.select(from_low, last * unit, high)
        x = ops.maximum(ops.minimum(x, high), low)
    return rounded(x * scale) * unit
