"""Convolutions and transposed convolutions, in one to three dimensions and in groups."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.read.movement import padded
from staticgraph.formats.onnx.values import permuted, reshape, sizes, vector
from staticgraph.formats.onnx.windows import Window, windows

_FORMATS = {4: "NCHW", 5: "NCDHW"}


@operator("Conv")
def _conv(node: Node, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    return with_bias(convolution(node, x, w), bias)


def with_bias(x: Tensor, bias: Tensor | None) -> Tensor:
    """`x` plus a number per channel, which is its second axis."""
    if bias is None:
        return x
    return x + reshape(bias, [-1] + [1] * (len(x.type.shape or ()) - 2))


def convolution(node: Node, x: Tensor, w: Tensor) -> Tensor:
    """A convolution as a node describes it, without bias."""
    taps = node.sizes(w)[2:]
    if node.rank(x) != len(taps) + 2 or not 1 <= len(taps) <= 3:
        raise OnnxError(f"a convolution of rank {node.rank(x)} with a filter of rank {len(taps) + 2}")
    found = windows(node, node.shape(x)[2:], taps)
    if len(taps) == 1:
        return _without(_grouped(node, _with(x), _with(w), [Window(1, 1, 1, 1, 0, 0), *found]))
    return _grouped(node, x, w, found)


def _with(x: Tensor) -> Tensor:
    """An axis of size 1 in front of the only spatial one."""
    return ops.expand_dims(x, axis=2)


def _without(x: Tensor) -> Tensor:
    return ops.squeeze(x, axis=(2,))


def _layer(found: list[Window]) -> dict[str, Any]:
    pairs = [(0, 0), (0, 0), *((one.before, one.after) for one in found)]
    padding = "EXPLICIT" if any(map(any, pairs)) else "VALID"
    return {
        "strides": (1, 1, *(one.stride for one in found)),
        "padding": padding,
        "explicit_paddings": tuple(n for pair in pairs for n in pair) if padding == "EXPLICIT" else (),
        "data_format": _FORMATS[len(found) + 2],
        "dilations": (1, 1, *(one.dilation for one in found)),
    }


def _grouped(node: Node, x: Tensor, w: Tensor, found: list[Window]) -> Tensor:
    groups, layer = node.get("group", 1), _layer(found)
    out, each, *taps = node.sizes(w)
    space = range(2, len(taps) + 2)
    conv = ops.conv2d if len(taps) == 2 else ops.conv3d
    if groups == 1:
        return conv(x, permuted(w, [*space, 1, 0]), **layer)
    if groups < 1 or out % groups:
        raise OnnxError(f"{out} channels cannot be divided into {groups} groups")
    if each == 1 and len(taps) == 2:
        rows = reshape(w, [groups, out // groups, *taps])
        return ops.depthwise_conv2d_native(x, permuted(rows, [2, 3, 0, 1]), **layer)
    parts = ops.split(x, axis=1, num_split=groups), ops.split(w, axis=0, num_split=groups)
    made = [conv(xs, permuted(ws, [*space, 1, 0]), **layer) for xs, ws in zip(*parts, strict=True)]
    return ops.concat(made, axis=1)


@operator("ConvTranspose")
def _conv_transpose(node: Node, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    taps = node.sizes(w)[2:]
    if not 1 <= len(taps) <= 3:
        raise OnnxError(f"a convolution with a filter of rank {len(taps) + 2}")
    if len(taps) == 1:
        made = _without(_spread(node, _with(x), _with(w), 1))
    else:
        made = _spread(node, x, w, 0)
    return with_bias(made, bias)


def _spread(node: Node, x: Tensor, w: Tensor, extra: int) -> Tensor:
    """Lay each element out as a multiple of the filter; `extra` axes were put before the space."""
    first = [1] * extra
    taps = node.sizes(w)[2:]
    rank = len(taps)
    strides = first + list(node.get("strides") or [1] * (rank - extra))
    dilations = first + list(node.get("dilations") or [1] * (rank - extra))
    have = sizes(x)[2:]
    full = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in zip(have, taps, strides, dilations, strict=True)]
    layer = {
        "strides": (1, 1, *strides),
        "padding": "VALID",
        "data_format": _FORMATS[rank + 2],
        "dilations": (1, 1, *dilations),
    }
    groups = node.get("group", 1)
    xs = ops.split(x, axis=1, num_split=groups) if groups > 1 else [x]
    ws = ops.split(w, axis=0, num_split=groups) if groups > 1 else [w]
    spread: Any = ops.conv2d_backprop_input if rank == 2 else ops.conv3d_backprop_input
    order = [*range(2, rank + 2), 1, 0]
    shape = vector([sizes(x)[0], node.sizes(w)[1], *full])
    made = [
        spread(permuted(f, order), part, input_sizes=shape, **layer) for part, f in zip(xs, ws, strict=True)
    ]
    whole = ops.concat(made, axis=1) if groups > 1 else made[0]
    trimmed = _trims(node, full[extra:], strides[extra:], have[extra:])
    return padded(
        whole, [(0, 0)] * (2 + extra) + [(-before, -after) for before, after in trimmed], "constant"
    )


def _trims(node: Node, full: list[Any], strides: list[int], have: list[Any]) -> list[tuple[int, int]]:
    """Return the number of elements to cut off at both ends of each axis. A negative number is padding."""
    rank = len(full)
    more = node.get("output_padding") or [0] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    how = node.get("auto_pad", "NOTSET")
    shape = node.get("output_shape")
    if shape is None and how not in ("SAME_UPPER", "SAME_LOWER"):
        pads = [0] * (2 * rank) if how == "VALID" else pads
        return [(pads[i], pads[rank + i] - more[i]) for i in range(rank)]
    if any(isinstance(n, Tensor) for n in full):
        raise UnknownValueError("the sizes of its input must be known for this kind of padding")
    wanted = list(shape)[-rank:] if shape is not None else [n * s for n, s in zip(have, strides, strict=True)]
    trims = []
    for i in range(rank):
        total = full[i] + more[i] - wanted[i]
        less = total // 2
        before = less if how == "SAME_UPPER" else total - less
        trims.append((before, total - before - more[i]))
    return trims
