"""`tf.contrib.layers`: layers as functions, whose variables are called `weights` and `biases`.

All of them take defaults from `arg_scope`. `normalizer_fn` takes the place of the biases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import staticgraph as sg
from staticgraph.building.framework import checked
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import normalize_axis
from staticgraph.compiler.graph.static_value import decided
from staticgraph.layers import BatchNormalization
from staticgraph.nn.normalization import standardized
from staticgraph.state.initializers import (
    GlorotUniform,
    Initializer,
    Ones,
    VarianceScaling,
    Zeros,
)
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.framework.model_variables import (
    add_model_variable,
    add_once,
    collections_of,
)
from staticgraph.tf1.compat.contrib.layer_utils import collect_named_outputs, last_dimension, variance_epsilon

__all__ = [
    "batch_norm",
    "bias_add",
    "dropout",
    "elu",
    "flatten",
    "fully_connected",
    "layer_norm",
    "linear",
    "one_hot_encoding",
    "relu6",
    "repeat",
    "softmax",
    "stack",
    "unit_norm",
    "variance_scaling_initializer",
    "xavier_initializer",
]

# contrib widens normal numbers without tails by the root of 1.3; other initializers take their variance.
_OF_TRUNCATED = 1.3 * 0.87962566103423978**2

_CHANNELS_LAST, _CHANNELS_FIRST = ("NHWC", "NWC", "NDHWC"), ("NCHW", "NCW", "NCDHW")

# The names of our layers' variables, and contrib's.
_NAMES = {"kernel": "weights", "bias": "biases"} | {
    f"{kind}_kernel": f"{kind}_weights" for kind in ("depthwise", "pointwise")
}

# Variables of batch renormalization, which TensorFlow puts into no collection of the caller.
_OF_RENORM = {"moving_stddev", "renorm_mean", "renorm_stddev"}


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = sg.float32) -> Initializer:
    """Random numbers of variance 2 / (inputs + outputs), as `glorot_uniform_initializer` if `uniform`.

    TypeError for a dtype that is not floating.
    """
    _require_floating("xavier_initializer", dtype)
    if uniform:
        return GlorotUniform(seed=seed, dtype=dtype)
    return variance_scaling_initializer(1.0, "FAN_AVG", False, seed, dtype)


def _require_floating(label: str, dtype: Any) -> None:
    if not sg.as_dtype(dtype).is_floating:
        raise misuse(TypeError, f"{label}: Cannot create initializer for non-floating point type {dtype}.")


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = sg.float32,
) -> Initializer:
    """Random numbers of variance `factor` / n; n is the inputs, the outputs or their mean, by `mode`.

    TypeError for a dtype that is not floating.
    """
    _require_floating("variance_scaling_initializer", dtype)
    distribution = "uniform" if uniform else "truncated_normal"
    factor = factor if uniform else factor * _OF_TRUNCATED
    return VarianceScaling(factor, mode.lower(), distribution, seed=seed, dtype=dtype)


@contextmanager
def opened_layer(
    scope: Any, default: str, inputs: Any, reuse: Any, variables_collections: Any
) -> Iterator[sg.VariableScope]:
    """The variable scope of a layer: its variables get contrib's names and are model variables."""

    def renamed(getter: Callable[..., Any], name: str, *args: Any, **options: Any) -> Any:
        place, slash, last = name.rpartition("/")
        last = _NAMES.get(last, last)
        variable = getter(place + slash + last, *args, **options)
        add_model_variable(variable)
        for collection in () if last in _OF_RENORM else collections_of(variables_collections, last) or ():
            add_once(collection, variable)
        return variable

    with sg.variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=renamed) as opened:
        yield opened


def weighted(
    layer: Callable[..., Any],
    default: str,
    inputs: Any,
    activation_fn: Any,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = GlorotUniform,
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Apply `layer`, then the normalizer if there is one, then the activation if there is one.

    All layers with weights are built like this. With a normalizer, the layer has no biases.
    """
    inputs = sg.convert_to_tensor(inputs)
    with opened_layer(scope, default, inputs, reuse, variables_collections) as opened:
        made = layer(
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            dtype=inputs.dtype,
            _scope=opened,
            _reuse=reuse,
        )
        outputs = made(inputs)
        if normalizer_fn is not None:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        if activation_fn is not None:
            outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def fully_connected(
    inputs: Any, num_outputs: int, activation_fn: Any = sg.nn.relu, *others: Any, **options: Any
) -> Any:
    """`activation_fn(inputs @ weights + biases)` over the last axis of `inputs`.

    Further parameters, by place or by name, of this and of the convolutions: `normalizer_fn` and
    `normalizer_params`, `weights_initializer`, `weights_regularizer`, `biases_initializer` (None for no
    biases), `biases_regularizer`, `reuse`, `variables_collections`, `outputs_collections`, `trainable`,
    `scope`.

    >>> from staticgraph.tf1.compat.contrib.layers import fully_connected
    >>> h = fully_connected(sg.placeholder(sg.float32, [None, 4]), 3)
    >>> h, [v.name for v in sg.trainable_variables()]
    (<sg.Tensor 'fully_connected/Relu:0' shape=(?, 3) dtype=float32>,
     ['fully_connected/weights:0', 'fully_connected/biases:0'])
    """
    layer = partial(sg.layers.Dense, num_outputs)
    return weighted(layer, "fully_connected", inputs, activation_fn, *others, **options)


linear = partial(fully_connected, activation_fn=None)
elu = partial(fully_connected, activation_fn=sg.nn.elu)
relu6 = partial(fully_connected, activation_fn=sg.nn.relu6)


def channel_order(data_format: str | None) -> str:
    """Return the `data_format` of our layers for contrib's, such as "NHWC"; None is that of our layers."""
    if data_format in _CHANNELS_FIRST:
        return "channels_first"
    if data_format is None or data_format in _CHANNELS_LAST:
        return "channels_last"
    raise misuse(
        ValueError,
        f"data_format={data_format!r}: there is no such order of axes",
        f"use one of {', '.join(_CHANNELS_LAST + _CHANNELS_FIRST)}",
    )


class _ShiftFirst(BatchNormalization):
    """The layer with the order of variables that TensorFlow has where it does not use this layer."""

    _weights_in_order = ("beta", "gamma")


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = sg.GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Inputs with mean 0 and variance 1 over the batch, then shifted by `beta` and scaled by `gamma`.

    With `updates_collections=None` the moving averages are updated by computing the outputs. With
    `zero_debias_moving_mean`, that of the mean is divided by how much it has seen.
    """
    if batch_weights is not None:
        raise misuse(NotImplementedError, "batch_norm: batch_weights is not supported")
    first = channel_order(data_format) == "channels_first"
    inputs = sg.convert_to_tensor(inputs)
    initial = {"beta": Zeros, "gamma": Ones, "moving_mean": Zeros, "moving_variance": Ones}
    initial |= param_initializers or {}
    regular = param_regularizers or {}
    with opened_layer(scope, "BatchNorm", inputs, reuse, variables_collections) as opened:
        # A matrix is normalized as pictures of one pixel are, whose moving variance is that of a sample.
        as_pictures = fused is not False and inputs.shape.ndims == 2 and not renorm and adjustment is None
        in_updates = updates_collections == sg.GraphKeys.UPDATE_OPS
        kind = BatchNormalization if in_updates and not as_pictures else _ShiftFirst
        layer = kind(
            1 if first else -1,
            decay,
            epsilon,
            center,
            scale,
            initial["beta"],
            initial["gamma"],
            initial["moving_mean"],
            initial["moving_variance"],
            regular.get("beta"),
            regular.get("gamma"),
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            fused=fused,
            trainable=trainable,
            adjustment=adjustment,
            _scope=opened,
            _reuse=reuse,
        )
        layer._zero_debias_mean = zero_debias_moving_mean
        is_training = decided(is_training)
        applied = partial(_to_pixels, layer, first) if as_pictures else layer
        outputs = applied(inputs, training=is_training)
        if fused is not False and (as_pictures or not in_updates):
            count_more(outputs.graph, _more_of_fused(is_training, in_updates))
        outputs = outputs if in_updates else _move_updates(layer.updates, updates_collections, outputs)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


def _more_of_fused(is_training: Any, in_updates: bool) -> int:
    """Return how many operations more TensorFlow has for statistics that it does not leave to the layer."""
    if isinstance(is_training, sg.Tensor):
        return 5 if in_updates else 4
    return -3 if is_training else -1


def _to_pixels(layer: Any, channels_first: bool, inputs: sg.Tensor, training: Any) -> sg.Tensor:
    """Apply a layer to the rows of a matrix as to pictures of one pixel."""
    channels = inputs.shape[1].value
    pictures = sg.reshape(inputs, [-1, channels, 1, 1] if channels_first else [-1, 1, 1, channels])
    return sg.reshape(layer(pictures, training=training), sg.shape(inputs))


def _move_updates(updates: list[Any], collections: Any, outputs: Any) -> Any:
    """Takes updates out of UPDATE_OPS, into other collections, or else into what computes `outputs`."""
    waiting = sg.get_collection_ref(sg.GraphKeys.UPDATE_OPS)
    waiting[:] = [op for op in waiting if not any(op is update for update in updates)]
    if collections or not updates:
        for update in updates:
            sg.add_to_collections(collections, update)
        return outputs
    with sg.control_dependencies(updates):
        return sg.identity(outputs)


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Inputs with mean 0 and variance 1 over the axes from `begin_norm_axis` on, then shifted and scaled."""
    inputs = sg.convert_to_tensor(inputs)
    with opened_layer(scope, "LayerNorm", inputs, reuse, variables_collections) as opened:
        rank = inputs.shape.ndims
        with checked("layer_norm"):
            require(rank is not None, "the rank of the inputs must be known")
            begin_norm_axis = normalize_axis(begin_norm_axis, rank or 0, "begin_norm_axis")
            begin_params_axis = normalize_axis(begin_params_axis, rank or 0, "begin_params_axis")
        sizes = inputs.shape.as_list()[begin_params_axis:]
        parameter = partial(sg.get_variable, shape=sizes, dtype=inputs.dtype, trainable=trainable)
        beta = parameter("beta", initializer=Zeros) if center else None
        gamma = parameter("gamma", initializer=Ones) if scale else None
        epsilon = variance_epsilon(inputs.dtype)
        outputs = standardized(inputs, range(begin_norm_axis, rank), beta, gamma, epsilon)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """In training, elements kept with probability `keep_prob` and scaled by its inverse; else the inputs."""
    with sg.variable_scope(scope, "Dropout", [inputs]) as opened:
        layer = sg.layers.Dropout(1 - keep_prob, noise_shape, seed, _scope=opened)
        outputs = layer(inputs, training=is_training)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """All axes but the first as one."""
    with sg.name_scope(scope, "Flatten", [inputs]) as opened:
        return collect_named_outputs(outputs_collections, opened, sg.layers.flatten(inputs))


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = Zeros,
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str | None = "NHWC",
    scope: Any = None,
) -> Any:
    """`inputs` and a variable `biases` with one element per channel."""
    inputs = sg.convert_to_tensor(inputs)
    with opened_layer(scope, "BiasAdd", inputs, reuse, variables_collections) as opened:
        channels = inputs.shape.as_list()[1 if channel_order(data_format) == "channels_first" else -1]
        bias = sg.get_variable("bias", [channels], inputs.dtype, initializer, regularizer, trainable)
        outputs = sg.nn.bias_add(inputs, bias, data_format=data_format)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """One row per label, `on_value` at its place."""
    with sg.name_scope(scope, "OneHotEncoding", [labels]) as opened:
        labels = sg.convert_to_tensor(labels)
        outputs = sg.one_hot(labels, num_classes, on_value, off_value)
        count_more(outputs.graph, 2 + (labels.dtype == sg.int32))  # a cast to int64
    return collect_named_outputs(outputs_collections, opened, outputs)


@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    """Softmax over the last axis."""
    with sg.variable_scope(scope, "softmax", [logits]):
        logits = sg.convert_to_tensor(logits)
        rows = sg.reshape(logits, [-1, last_dimension(logits.shape, min_rank=2)])
        probabilities = sg.reshape(sg.nn.softmax(rows), sg.shape(logits))
        probabilities.set_shape(logits.shape)
        return probabilities


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """`inputs` divided by their Euclidean length along an axis. ValueError for inputs of unknown rank."""
    inputs = sg.convert_to_tensor(inputs)
    if inputs.shape.ndims is None:
        raise misuse(ValueError, "unit_norm: the input rank must be known")
    with sg.variable_scope(scope, "UnitNorm", [inputs]):
        return inputs / sg.sqrt(epsilon + sg.reduce_sum(sg.square(inputs), dim, keepdims=True))


def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a layer `repetitions` times, in the scopes `scope/scope_1`, `scope/scope_2` and so on."""
    scope = kwargs.pop("scope", None)
    name = scope or _name_of(layer)
    with sg.variable_scope(scope, "Repeat", [inputs]):
        for number in range(1, repetitions + 1):
            inputs = layer(inputs, *args, **kwargs, scope=f"{name}_{number}")
    return inputs


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """A layer once for each of `stack_args`, its arguments, in the scopes `scope/scope_1` and so on."""
    scope = kwargs.pop("scope", None)
    name = scope or _name_of(layer)
    with sg.variable_scope(scope, "Stack", [inputs]):
        for number, args in enumerate(stack_args, 1):
            args = args if isinstance(args, list | tuple) else [args]
            inputs = layer(inputs, *args, **kwargs, scope=f"{name}_{number}")
    return inputs


def _name_of(layer: Callable[..., Any]) -> str:
    """Return the name of the scope of a layer: `conv2d` and its kin have longer names in TensorFlow."""
    name = str(getattr(layer, "__name__", "stack"))
    ours = getattr(layer, "__module__", "").startswith("staticgraph.")
    return name.replace("conv", "convolution", 1) if ours and "convolution" not in name else name
