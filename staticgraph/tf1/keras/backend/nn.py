"""Functions of neural networks under Keras's names: activations, cross entropies, convolutions, pooling."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.array_ops import axis_last, reshape, transpose
from staticgraph.arrays.array_ops import shape as shape_of
from staticgraph.arrays.casts import cast
from staticgraph.arrays.sorting import in_top_k as _in_top_k
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import adapted
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers import spatial
from staticgraph.mathematics.math_ops import clip_by_value, log
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.tf1.keras import activations
from staticgraph.tf1.keras.backend.values import seed_of
from staticgraph.tf1.keras.settings import checked_format, epsilon
from staticgraph.tf1.keras.state import learning_phase

elu = activations.elu
hard_sigmoid = activations.hard_sigmoid
relu = activations.relu
selu = activations.selu
sigmoid = activations.sigmoid
softplus = activations.softplus
softsign = activations.softsign
tanh = activations.tanh

# Choices


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two expressions of the same shape, tensors or functions that make them, by a truth value.

    A condition with axes chooses row by row. Both sides are computed.
    """
    chosen = cast(convert_to_tensor(condition), bool_)
    then, other = (convert_to_tensor(e() if callable(e) else e) for e in (then_expression, else_expression))
    rank = chosen.shape.ndims or 0
    if then.shape.ndims is not None and 0 < rank < then.shape.ndims:
        ones = [1] * (then.shape.ndims - rank)
        chosen = reshape(chosen, [*(-1 if n is None else n for n in chosen.shape.as_list()), *ones])
    made = ops.select(chosen, then, other)
    if then.shape.ndims == other.shape.ndims:
        made.set_shape(then.shape)
    return made


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`x` while training, `alt` otherwise: tensors, or functions that make them.

    `training`: a bool, 0 or 1, or a tensor; the learning phase where it is None.
    """
    training = learning_phase() if training is None else training
    if not (isinstance(training, Tensor) or hasattr(training, "to_tensor")):
        chosen = x if training else alt
        return chosen() if callable(chosen) else chosen
    return switch(training, x, alt)


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`alt` while training, `x` otherwise."""
    return in_train_phase(alt, x, training)


# Activations and losses


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Positive numbers that sum to one along `axis`."""
    return nn.softmax(x, axis)


def _logits(output: Tensor, activation: str) -> Tensor | None:
    """Return the tensor that an activation was applied to, or None if `output` is of another operation.

    The tensor is more precise than the result of the activation.
    """
    return output.op.tensors[0] if output.op.type == activation else None


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy between probabilities `target` and `output`, which are of one shape.

    The result of a softmax is taken back to its logits, so that small probabilities are not lost.
    """
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    logits = output if from_logits else _logits(output, "Softmax")
    if logits is not None:
        return nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)
    output = output / reduce_sum(output, axis, keepdims=True)
    return -reduce_sum(target * log(_clipped(output)), axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """The cross entropy where `target` holds the numbers of classes."""
    output = convert_to_tensor(output)
    logits = output if from_logits else _logits(output, "Softmax")
    logits = log(_clipped(output)) if logits is None else logits
    logits = axis_last(logits, axis, "sparse_categorical_crossentropy")
    rank = logits.shape.ndims
    target = cast(target, int64)
    sizes = shape_of(logits)
    flat = rank is not None and target.shape.ndims is not None and target.shape.ndims != rank - 1
    known = logits.shape
    if flat:
        target = reshape(target, [-1])
        logits = reshape(logits, [-1, known.as_list()[-1] or sizes[-1]])
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    if flat and rank is not None and rank >= 3:
        losses = reshape(losses, sizes[:-1])
        losses.set_shape(known.as_list()[:-1])
    return losses


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """The cross entropy between probabilities of yes, element by element."""
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    logits = output if from_logits else _logits(output, "Sigmoid")
    if logits is not None:
        return nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    output = _clipped(output)
    return -(target * log(output + epsilon()) + (1.0 - target) * log(1.0 - output + epsilon()))


def _clipped(output: Tensor) -> Tensor:
    return clip_by_value(output, epsilon(), 1.0 - epsilon())


def in_top_k(predictions: Any, targets: Any, k: int) -> Tensor:
    """Return a bool for each target: true if it is among the `k` largest predictions of its row."""
    return _in_top_k(predictions, targets, k)


def dropout(x: Any, level: Any, noise_shape: Any = None, seed: int | None = None) -> Tensor:
    """`x` with elements set to zero with probability `level`, the others enlarged."""
    return nn.dropout(x, rate=level, noise_shape=noise_shape, seed=seed_of(seed))


# Layers


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Tensor:
    """A number added to each channel; `bias` may also have a value for each place."""
    x, bias = convert_to_tensor(x), convert_to_tensor(bias)
    first = checked_format(data_format) == "channels_first"
    rank, sizes = len(x.shape), bias.shape.as_list()
    if len(sizes) not in (1, rank - 1):
        raise misuse(
            ValueError, f"bias_add: a bias of {len(sizes)} axes does not fit {x.name} of {rank} axes"
        )
    if len(sizes) == 1:
        return x + reshape(bias, [1, sizes[0], *[1] * (rank - 2)]) if first else nn.bias_add(x, bias)
    order = [1, sizes[-1], *sizes[:-1]] if first else [1, *sizes]
    moved = transpose(bias, [len(sizes) - 1, *range(len(sizes) - 1)]) if first else bias
    return x + reshape(moved, order)


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Tensor:
    """`gamma * (x - mean) / sqrt(var + epsilon) + beta`."""
    return nn.batch_normalization(x, mean, var, beta, gamma, epsilon)


def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> tuple[Tensor, Tensor, Tensor]:
    """`x` normalised by its own moments, and these: (normalised, mean, variance)."""
    x = convert_to_tensor(x)
    mean, variance = nn.moments(x, list(reduction_axes), keep_dims=True)
    sizes = [1 if d in reduction_axes else n for d, n in enumerate(x.shape.as_list())]
    shaped = [
        None if v is None else reshape(v, [-1 if n is None else n for n in sizes]) for v in (beta, gamma)
    ]
    made = nn.batch_normalization(x, mean, variance, shaped[0], shaped[1], epsilon)
    return made, reshape(mean, [-1]), reshape(variance, [-1])


def conv1d(
    x: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """A convolution over the axes between batch and channels."""
    x = convert_to_tensor(x)
    return spatial.convolve(x, kernel, strides, padding, checked_format(data_format), dilation_rate)


_CONVOLVED = "x kernel strides padding data_format dilation_rate"
conv2d = adapted(conv1d, _CONVOLVED, "conv2d", strides=(1, 1), dilation_rate=(1, 1))
conv3d = adapted(conv1d, _CONVOLVED, "conv3d", strides=(1, 1, 1), dilation_rate=(1, 1, 1))


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """The transpose of a convolution over two axes."""
    sizes = convert_to_tensor(list(output_shape))
    return spatial.convolve_transposed(
        x, kernel, sizes, strides, padding, checked_format(data_format), dilation_rate
    )


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """A convolution of each channel by itself, then one over all channels."""
    return spatial.convolve_separably(
        x, depthwise_kernel, pointwise_kernel, strides, padding, checked_format(data_format), dilation_rate
    )


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    pool_mode: str = "max",
) -> Tensor:
    """The largest element of each window, or for "avg" the mean, over the axes between batch and channels."""
    return spatial.pool(x, pool_size, strides, padding, checked_format(data_format), pool_mode)


_POOLED = "x pool_size strides padding data_format pool_mode"
pool3d = adapted(pool2d, _POOLED, "pool3d", strides=(1, 1, 1))
