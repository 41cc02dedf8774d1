"""Sums with a bias, and what is built of them."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.products import matmul
from staticgraph.mathematics.reductions import reduce_mean


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """`value` plus a vector of one number per channel; channels are the last axis, or the second for 'NC...'.

    >>> import staticgraph as sg
    >>> sg.nn.bias_add(sg.placeholder(sg.float32, [None, 3]), sg.zeros([3]))
    <sg.Tensor 'BiasAdd:0' shape=(?, 3) dtype=float32>
    """
    if data_format is not None and not data_format.startswith("N"):
        raise misuse(ValueError, f"bias_add: data_format {data_format!r} is neither 'N...C' nor 'NC...'")
    first = data_format is not None and data_format.startswith("NC")
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return ops.bias_add(value, bias, data_format="NCHW" if first else "NHWC", name=scope)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """matmul(x, weights) + biases."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """relu(matmul(x, weights) + biases)."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return ops.relu(bias_add(matmul(x, weights), biases), name=scope)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The share of the elements that are zero, as float32; NaN for an empty tensor.

    >>> import staticgraph as sg
    >>> sg.nn.zero_fraction(sg.constant([0.0, 1.0])).dtype
    sg.float32
    """
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        with checked("zero_fraction"):
            require(not value.dtype.is_bool, "value must be numeric, not bool")
        with counted_as(value.graph, 26):  # TensorFlow counts in int32 or int64, by a branch
            return reduce_mean(
                ops.cast(ops.equal(value, value.dtype.numpy.type(0)), dtype=float32), name="fraction"
            )
