"""Grey-scale dilation and erosion, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The largest sum of image and filter in each window, per channel.

    `strides` and `rates` have the form [1, rows, columns, 1]; the filter has shape [rows, columns, channels].

    >>> import staticgraph as sg
    >>> x, w = sg.placeholder(sg.float32, [None, 8, 8, 3]), sg.zeros([3, 3, 3])
    >>> sg.nn.dilation2d(x, w, [1, 2, 2, 1], [1, 1, 1, 1], "SAME").shape.as_list()
    [None, 4, 4, 3]
    """
    filter = renamed("filter", filter, "filters", filters)
    rates = renamed("rates", rates, "dilations", dilations)
    needed("dilation2d", filter=filter, strides=strides, rates=rates, padding=padding)
    steps = {"strides": tuple(strides or ()), "rates": tuple(rates or ())}
    return ops.dilation2d(input, filter, **steps, padding=padding or "", name=name)


def erosion2d(
    value: Any,
    kernel: Any,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The smallest difference of image and kernel in each window: the dilation of the negative image.

    >>> import staticgraph as sg
    >>> ones = [1, 1, 1, 1]
    >>> sg.nn.erosion2d(sg.zeros([1, 4, 4, 1]), sg.zeros([2, 2, 1]), ones, ones, "VALID").shape.as_list()
    [1, 3, 3, 1]
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = ops.reverse(convert_to_tensor(kernel, name="kernel"), axis=[0, 1])
        opposite = -convert_to_tensor(value, name="value")
        return ops.negative(dilation2d(opposite, turned, strides, rates, padding), name=scope)
