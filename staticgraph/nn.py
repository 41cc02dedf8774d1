"""Neural network operations, with TensorFlow 1's names: `sg.nn`."""

from __future__ import annotations

from typing import Any

from staticgraph.activations import (
    crelu,
    elu,
    leaky_relu,
    relu,
    relu6,
    selu,
    sigmoid,
    softplus,
    softsign,
    swish,
    tanh,
)
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.framework import checked, name_scope
from staticgraph.inputs import convert_to_tensor
from staticgraph.linalg import l2_normalize, matmul
from staticgraph.nn_conv import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose,
    convolution,
)
from staticgraph.nn_depthwise import (
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from staticgraph.nn_embedding import embedding_lookup
from staticgraph.nn_loss import (
    log_poisson_loss,
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from staticgraph.nn_morphology import dilation2d, erosion2d
from staticgraph.nn_norm import (
    batch_norm_with_global_normalization,
    batch_normalization,
    dropout,
    fused_batch_norm,
    layer_normalization,
    local_response_normalization,
    lrn,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from staticgraph.nn_pool import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    avg_pool_v2,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_v2,
    max_pool_with_argmax,
    pool,
)
from staticgraph.reductions import reduce_mean
from staticgraph.sorting import in_top_k, top_k
from staticgraph.space import depth_to_space, space_to_batch, space_to_depth

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "elu",
    "embedding_lookup",
    "erosion2d",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "layer_normalization",
    "leaky_relu",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "normalize_moments",
    "pool",
    "relu",
    "relu6",
    "relu_layer",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]

l2_loss = ops.l2_loss


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """`value` plus a vector of one number per channel; channels are the last axis, or the second for 'NC...'.

    >>> import staticgraph as sg
    >>> sg.nn.bias_add(sg.placeholder(sg.float32, [None, 3]), sg.zeros([3]))
    <sg.Tensor 'BiasAdd:0' shape=(?, 3) dtype=float32>
    """
    if data_format is not None and not data_format.startswith("N"):
        raise ValueError(f"bias_add: data_format {data_format!r} is neither 'N...C' nor 'NC...'")
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
        return reduce_mean(
            ops.cast(ops.equal(value, value.dtype.numpy.type(0)), dtype=float32), name="fraction"
        )
