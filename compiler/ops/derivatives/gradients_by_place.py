"""Derivatives that put cotangents where elements came from, or near there, such as MaxPoolGrad.

Each is one operation, as those in `gradient_nodes.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, NUMERIC, REAL
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OPS, OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, merge, operand_shape, shape_text
from staticgraph.compiler.ops.arrays.assembly import mirror_cotangent, mirror_type
from staticgraph.compiler.ops.arrays.slicing import resolve, strided_cotangent, strided_type
from staticgraph.compiler.ops.derivatives.gradient_nodes import alike, formula_of, gradient_node
from staticgraph.compiler.ops.neural.max_pool_gradient import numpy_max_grad
from staticgraph.compiler.ops.neural.normalization import lrn_type, numpy_lrn_grad
from staticgraph.compiler.ops.neural.pooling import pooled_type
from staticgraph.compiler.ops.samples import Draw, Sample, real


def _pool_type(x: TensorType, y: TensorType, g: TensorType, **attrs: Any) -> TensorType:
    result = merge(y.shape, g.shape, "the result of pooling and its cotangent,")
    merge(pooled_type(x, **attrs).shape, result, "what pooling gives and its cotangent,")
    return TensorType(g.dtype, x.shape)


def _pool_samples(rank: int) -> list[Sample]:
    def sample(x: tuple[int, ...], y: tuple[int, ...], **attrs: Any) -> Sample:
        drawn = Draw(x, 0, 3), Draw(y, 1, 3), real(*y)
        return Sample(*drawn, **attrs)

    if rank == 5:
        whole = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 2, 2, 2, 1)}
        return [
            sample((1, 4, 4, 6, 2), (1, 2, 2, 3, 2), **whole, padding="VALID"),
            sample((1, 3, 4, 2, 1), (1, 2, 2, 1, 1), **whole, padding="SAME"),
            sample((2, 2, 3, 2, 1), (2, 1, 1, 1, 1), **whole, padding="VALID"),
        ]
    return [
        sample((1, 3, 2, 1), (1, 3, 2, 1), ksize=(1, 2, 2, 1), strides=(1, 1, 1, 1), padding="SAME"),
        sample((2, 4, 6, 3), (2, 2, 3, 3), ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"),
        sample((1, 7, 5, 2), (1, 4, 3, 2), ksize=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME"),
    ]


def _max_pool(of: str, rank: int, default: str) -> OpDef:
    @gradient_node(
        name=f"{of}_backprop", tf=f"{OPS[of].tf}Grad", dtypes=REAL, type=_pool_type,
        numpy=lambda x, y, g, data_format, **attrs: numpy_max_grad(x, g, **attrs),
        samples=_pool_samples(rank), differentiable=(2,), flat=(0, 1),
    )
    def node(
        orig_input: Any, orig_output: Any, grad: Any, *, ksize: tuple[int, ...], strides: tuple[int, ...],
        padding: str, data_format: str = default,
    ) -> Any:
        """The cotangent of the input of a pool: each element of `grad` goes to the largest of its window."""
        told = {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}
        largest = OPS[of](orig_input, **told)  # there already, and right whatever `orig_output` holds
        return formula_of(of)(grad, largest, orig_input, **told)[0]

    return node


max_pool_backprop = _max_pool("max_pool", 4, "NHWC")
max_pool3d_backprop = _max_pool("max_pool3d", 5, "NDHWC")


def _normalized_type(g: TensorType, x: TensorType, y: TensorType, **attrs: Any) -> TensorType:
    whole = TensorType(g.dtype, merge(alike(g, x).shape, y.shape, "a cotangent and the result"))
    return lrn_type(whole, **attrs)


@gradient_node(
    tf="LRNGrad", type=_normalized_type, dtypes=FLOATING, differentiable=(0, 1),
    numpy=lambda g, x, y, **attrs: numpy_lrn_grad(g, x, **attrs),
    samples=[Sample(real(1, 2, 2, 7), real(1, 2, 2, 7), real(1, 2, 2, 7), depth_radius=2),
             Sample(real(2, 1, 1, 4), real(2, 1, 1, 4), real(2, 1, 1, 4), bias=2.0, alpha=0.3, beta=0.75),
             Sample(real(1, 3, 2, 1), real(1, 3, 2, 1), real(1, 3, 2, 1), depth_radius=1)],
)
def lrn_grad(
    input_grads: Any, input_image: Any, output_image: Any, *, depth_radius: int = 5, bias: float = 1.0,
    alpha: float = 1.0, beta: float = 0.5,
) -> Any:
    """The cotangent of the input of `local_response_normalization`, with the same depth_radius, bias, alpha
    and beta.
    """
    told = {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}
    return formula_of("local_response_normalization")(input_grads, output_image, input_image, **told)[0]


# Movement


def _unmirrored_type(g: TensorType, paddings: Any, mode: str) -> TensorType:
    if g.shape is None or paddings is None:
        return TensorType(g.dtype, None if paddings is None else (None,) * len(paddings))
    require(len(paddings) == len(g.shape), f"{len(paddings)} paddings for a tensor of rank {len(g.shape)}")
    pairs = list(zip(g.shape, paddings, strict=True))
    shape = tuple(None if n is None or pad is None or None in pad else n - sum(pad) for n, pad in pairs)
    enough = all(n is None or n >= 0 for n in shape)
    require(enough, f"paddings {paddings} are more than {shape_text(g.shape)} has")
    mirror_type(TensorType(g.dtype, shape), paddings, mode)
    return TensorType(g.dtype, shape)


def _numpy_unmirrored(g: np.ndarray, paddings: Any, mode: str) -> np.ndarray:
    shape = tuple(n - a - b for n, (a, b) in zip(g.shape, paddings, strict=True))
    places = np.arange(int(np.prod(shape))).reshape(shape)
    kind: Any = mode.lower()
    out = np.zeros(places.size, np.float64)
    np.add.at(out, np.pad(places, paddings, mode=kind).reshape(-1), g.reshape(-1))
    return out.reshape(shape).astype(g.dtype)


@gradient_node(
    tf="MirrorPadGrad", type=_unmirrored_type, numpy=_numpy_unmirrored,
    operands=("paddings",), partial=("paddings",), dtypes=FLOATING,
    samples=[Sample(real(6, 7), paddings=((1, 2), (0, 3)), mode="REFLECT"),
             Sample(real(8, 8), paddings=((3, 2), (0, 4)), mode="SYMMETRIC"),
             Sample(real(5), paddings=((1, 1),), mode="REFLECT")],
    grad=lambda h, out, g, paddings, mode: (ops.mirror_pad(h, paddings=paddings, mode=mode),), grad_takes=(),
)
def mirror_pad_grad(input: Any, *, paddings: Any, mode: str) -> Any:
    """The cotangent of what `mirror_pad` has padded: what `paddings` took from it, by `mode`, is added up."""
    return mirror_cotangent(input, paddings, mode)


def _sliced_type(dy: TensorType, shape: Any, **place: Any) -> TensorType:
    whole = TensorType(dy.dtype, operand_shape(shape, "shape"))
    merge(strided_type(whole, **place).shape, dy.shape, "a slice and its cotangent")
    return whole


def _numpy_unsliced(
    dy: np.ndarray, shape: Any, begin: Any, end: Any, strides: Any = None, **masks: int
) -> np.ndarray:
    places = np.arange(int(np.prod(shape))).reshape(shape)
    taken = OPS["strided_slice"].reference(places, begin=begin, end=end, strides=strides, **masks)  # type: ignore[misc]
    out = np.zeros(places.size, dy.dtype)
    out[np.asarray(taken).reshape(-1)] = dy.reshape(-1)
    return out.reshape(shape)


_SLICE = ("shape", "begin", "end", "strides")


@gradient_node(
    tf="StridedSliceGrad", type=_sliced_type, numpy=_numpy_unsliced, operands=_SLICE, partial=_SLICE,
    dtypes=NUMERIC,
    samples=[
        Sample(real(2), shape=(5,), begin=(1,), end=(4,), strides=(2,)),
        Sample(real(3, 2), shape=(3, 4), begin=(-1, 0), end=(0, 9), strides=(-1, 3), end_mask=0b01),
        Sample(real(4), shape=(3, 4), begin=(1, 0), end=(2, 0), strides=(1, 1), shrink_axis_mask=0b01,
               end_mask=0b10),
    ],
    grad=lambda h, out, dy, shape, **attrs: (ops.strided_slice(h, **attrs),), grad_takes=(),
)
def strided_slice_grad(
    dy: Any, *, shape: Any, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:
    """The cotangent of what a strided slice was taken of: `dy` in its place in zeros of `shape`.

    The place is given as for `strided_slice`, by begin, end, strides and the masks: begin_mask, end_mask,
    ellipsis_mask, new_axis_mask and shrink_axis_mask.
    """
    masks = {
        "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask,
    }
    return strided_cotangent(dy, shape, resolve(shape, begin, end, strides, **masks).spans)
