"""Pooling: the largest, the mean, or a norm of the elements of windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.read.movement import padded
from staticgraph.formats.onnx.values import constant, permuted, reshape, sizes
from staticgraph.formats.onnx.windows import Window, windows


def _windows(node: Node, x: Tensor) -> list[Window]:
    space = node.shape(x)[2:]
    if not 1 <= len(space) <= 3:
        raise OnnxError(f"pooling along {len(space)} axes")
    return windows(node, space, node.required("kernel_shape"))


def _with_padding(x: Tensor, found: list[Window], value: Any) -> Tensor:
    pairs = [(0, 0), (0, 0), *((one.before, one.after) for one in found)]
    return padded(x, pairs, "constant", constant(value, x)) if any(map(any, pairs)) else x


def _pooled(pool: str, x: Tensor, found: list[Window]) -> Tensor:
    """Pooling without padding. The taps of windows with gaps are gathered, along one axis after the other."""
    if any(one.dilation > 1 for one in found):
        reduce = ops.reduce_max if pool == "max_pool" else ops.reduce_mean
        for axis, one in enumerate(found, 2):
            x = reduce(ops.gather(x, constant(_places(one), int64), axis=axis), axis=(axis + 1,))
        return x
    line = len(found) == 1
    x = ops.expand_dims(x, axis=2) if line else x
    found = [Window(1, 1, 1, 1, 0, 0), *found] if line else found
    name, format = (pool, "NCHW") if len(found) == 2 else (f"{pool}3d", "NCDHW")
    ksize, strides = (1, 1, *(one.taps for one in found)), (1, 1, *(one.stride for one in found))
    made = getattr(ops, name)(x, ksize=ksize, strides=strides, padding="VALID", data_format=format)
    return ops.squeeze(made, axis=(2,)) if line else made


def _places(one: Window) -> np.ndarray:
    """Return the indices of the taps in the padded input, for each position: [positions, taps]."""
    return np.arange(one.count)[:, None] * one.stride + np.arange(one.taps)[None, :] * one.dilation


@operator("MaxPool")
def _max_pool(node: Node, x: Tensor) -> Any:
    found = _windows(node, x)
    lowest = -math.inf if x.dtype.is_floating else x.dtype.min
    whole = _with_padding(x, found, lowest)
    if not node.wants(1):
        return _pooled("max_pool", whole, found)
    return _with_places(node, x, whole, found)


def _with_places(node: Node, x: Tensor, whole: Tensor, found: list[Window]) -> tuple[Tensor, Tensor]:
    """The largest elements, and the number that each has in the flattened input."""
    batch, channels, *space = node.sizes(x)
    rank, counts = len(found), [one.count for one in found]
    steps = (
        np.cumprod([1, *space[:-1]]) if node.get("storage_order") else np.cumprod([1, *space[:0:-1]])[::-1]
    )
    numbers: Any = np.arange(batch * channels).reshape([batch, channels] + [1] * (2 * rank)) * math.prod(
        space
    )
    for i, one in enumerate(found):
        whole = ops.gather(whole, constant(_places(one), int64), axis=2 + 2 * i)
        shape = [1] * (2 + 2 * rank)
        shape[2 + 2 * i : 4 + 2 * i] = _places(one).shape
        numbers = numbers + ((_places(one) - one.before) * steps[i]).reshape(shape)
    order = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)]
    taps = reshape(permuted(whole, order), [batch, channels, *counts, -1])
    best = ops.argmax(taps, axis=2 + rank)
    rows = constant(np.transpose(numbers, order).reshape([batch, channels, *counts, -1]), int64)
    return ops.reduce_max(taps, axis=(2 + rank,)), ops.gather(rows, best, axis=2 + rank, batch_dims=2 + rank)


@operator("AveragePool")
def _average_pool(node: Node, x: Tensor) -> Tensor:
    found = _windows(node, x)
    mean = _pooled("avg_pool", _with_padding(x, found, 0), found)
    declared = (
        None if node.get("auto_pad", "NOTSET") != "NOTSET" else node.get("pads") or [0] * 2 * len(found)
    )
    factor: Any = np.ones([1] * len(found))
    for i, one in enumerate(found):
        if one.before or one.after:
            share = _share(one, _counted(node, one, declared, i, len(found)))
            factor = factor * share.reshape([-1] + [1] * (len(found) - 1 - i))
    return mean if (factor == 1).all() else mean * constant(factor, x)


def _counted(node: Node, one: Window, pads: Any, axis: int, rank: int) -> tuple[int, int]:
    """Return the bounds of the elements that count: those of the input, or those of its padding too."""
    if one.length is None:
        raise UnknownValueError("the sizes of its input must be known for a mean with padding")
    if not node.get("count_include_pad"):
        return 0, one.length
    return -one.before, one.length + (one.after if pads is None else pads[rank + axis])


def _share(one: Window, bounds: tuple[int, int]) -> np.ndarray:
    """Return the factor by which the mean over all taps is too small, at each position."""
    places = _places(one) - one.before
    inside = ((places >= bounds[0]) & (places < bounds[1])).sum(axis=1)
    return one.taps / np.maximum(inside, 1)


@operator("LpPool")
def _lp_pool(node: Node, x: Tensor) -> Tensor:
    found = _windows(node, x)
    p = constant(node.get("p", 2), x)
    taps = constant(math.prod(one.taps for one in found), x)
    powers = ops.pow(ops.abs(_with_padding(x, found, 0)), p)
    return ops.pow(_pooled("avg_pool", powers, found) * taps, constant(1, x) / p)


@operator("MaxUnpool")
def _max_unpool(node: Node, x: Tensor, places: Tensor, shape: Tensor | None = None) -> Tensor:
    """Elements put back where they were the largest; zero elsewhere."""
    batch, channels, *space = node.sizes(x)
    rank = len(space)
    taps, strides = node.required("kernel_shape"), node.get("strides") or [1] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    natural = [
        (n - 1) * s + k - pads[i] - pads[rank + i]
        for i, (n, s, k) in enumerate(zip(space, strides, taps, strict=True))
    ]
    values, numbers = reshape(x, [-1]), reshape(places, [-1, 1])
    wanted = list(node.ints(shape, "output_shape")) if shape is not None else [batch, channels, *natural]
    flat = ops.scatter_nd(numbers, values, shape=(math.prod([batch, channels, *natural]),))
    made = reshape(flat, [batch, channels, *natural])
    return padded(made, [(0, n - m) for n, m in zip(wanted, sizes(made), strict=True)], "constant")
