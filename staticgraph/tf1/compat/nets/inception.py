"""`tf.contrib.slim.nets.inception`: Inception nets of versions 1, 2 and 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope, arg_scope
from staticgraph.tf1.compat.contrib.layer_functions.convolutions import conv2d
from staticgraph.tf1.compat.contrib.layer_functions.pooling import avg_pool2d
from staticgraph.tf1.compat.contrib.layers import batch_norm, dropout, softmax
from staticgraph.tf1.compat.nets.inception_layers import (
    Arguments,
    base_of,
    depth_of,
    inception_scope,
    normal_parameters,
)
from staticgraph.tf1.compat.nets.inception_tables import V1, V2, V3
from staticgraph.tf1.compat.nets.plain import normal_weights

__all__ = [
    "inception_v1",
    "inception_v1_arg_scope",
    "inception_v1_base",
    "inception_v2",
    "inception_v2_arg_scope",
    "inception_v2_base",
    "inception_v3",
    "inception_v3_arg_scope",
    "inception_v3_base",
]


def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, Arguments]:
    """Build Inception, version 1, up to a layer; see `inception_v3_base`."""
    return base_of(V1, inputs, final_endpoint, int, scope)


def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, Arguments]:
    """Build Inception, version 2, up to a layer; see `inception_v3_base`."""
    return base_of(V2, inputs, final_endpoint, depth_of(depth_multiplier, min_depth), scope)


def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, Arguments]:
    """Build Inception, version 3, up to a layer, without logits.

    Args:
        inputs: Images [batch, height, width, channels].
        final_endpoint: The name of the last layer, such as "Conv2d_2b_3x3" or "Mixed_6e".
        min_depth: The least number of channels of a layer.
        depth_multiplier: The numbers of channels are those of the paper times this.
        scope: The scope of the variables.

    Returns:
        The result of the last layer, and those of all layers before it by name.

    Raises:
        ValueError: If there is no such layer, or `depth_multiplier` is not positive.

    >>> from staticgraph.tf1.compat.nets.inception import inception_v3_base
    >>> net, end_points = inception_v3_base(sg.placeholder(sg.float32, [None, 299, 299, 3]), "Conv2d_3b_1x1")
    >>> net.shape.as_list(), list(end_points)[:2]
    ([None, 73, 73, 80], ['Conv2d_1a_3x3', 'Conv2d_2a_3x3'])
    """
    return base_of(V3, inputs, final_endpoint, depth_of(depth_multiplier, min_depth), scope)


def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, Arguments]:
    """Build Inception, version 1, https://arxiv.org/abs/1409.4842; see `inception_v3`."""
    with (
        sg.variable_scope(scope, "InceptionV1", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=opened)
        with sg.variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = _logits(net, num_classes, spatial_squeeze, "0c")
            _predict(end_points, logits, prediction_fn)
    return logits, end_points


def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, Arguments]:
    """Build Inception, version 2, https://arxiv.org/abs/1502.03167; see `inception_v3`."""
    depth_of(depth_multiplier, min_depth)  # an error before anything is built
    with (
        sg.variable_scope(scope, "InceptionV2", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        with sg.variable_scope("Logits"):
            net = _mean_of_window(net, 7, dropout_keep_prob)
            logits = _logits(net, num_classes, spatial_squeeze, "1c")
        _predict(end_points, logits, prediction_fn)
    return logits, end_points


def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV3",
) -> tuple[Any, Arguments]:
    """Build Inception, version 3, https://arxiv.org/abs/1512.00567, with its auxiliary logits.

    Args:
        inputs: Images [batch, 299, 299, channels]; 224 by 224 for versions 1 and 2.
        num_classes: The number of classes.
        is_training: If True, dropout drops, and the statistics of the batch normalize.
        dropout_keep_prob: The probability that dropout keeps an element.
        min_depth: The least number of channels of a layer.
        depth_multiplier: The numbers of channels are those of the paper times this.
        prediction_fn: The function from logits to `end_points["Predictions"]`.
        spatial_squeeze: If True, the logits are [batch, num_classes], else [batch, 1, 1, num_classes].
        reuse: If True, the variables must exist already.
        scope: The scope of the variables.

    Returns:
        The logits, and the results of all layers by name.

    Raises:
        ValueError: If `depth_multiplier` is not positive.

    >>> from staticgraph.tf1.compat.nets.inception import inception_v3
    >>> images = sg.placeholder(sg.float32, [None, 299, 299, 3])
    >>> logits, end_points = inception_v3(images, 10, depth_multiplier=0.1, min_depth=4)
    >>> logits.shape.as_list(), end_points["AuxLogits"].shape.as_list()
    ([None, 10], [None, 10])
    """
    depth = depth_of(depth_multiplier, min_depth)
    with (
        sg.variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        with sg.variable_scope("AuxLogits"):
            side = avg_pool2d(
                end_points["Mixed_6e"], [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5"
            )
            side = conv2d(side, depth(128), [1, 1], stride=1, padding="SAME", scope="Conv2d_1b_1x1")
            window = _window_within(side, 5)
            side = conv2d(
                side,
                depth(768),
                window,
                stride=1,
                padding="VALID",
                weights_initializer=normal_weights(0.01),
                scope="Conv2d_2a_{}x{}".format(*window),
            )
            weights = {"weights_initializer": normal_weights(0.001), "stride": 1, "padding": "SAME"}
            end_points["AuxLogits"] = _logits(side, num_classes, spatial_squeeze, "2b", **weights)
        with sg.variable_scope("Logits"):
            net = end_points["PreLogits"] = _mean_of_window(net, 8, dropout_keep_prob)
            logits = _logits(net, num_classes, spatial_squeeze, "1c")
        _predict(end_points, logits, prediction_fn)
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]
inception_v2.default_image_size = 224  # type: ignore[attr-defined]
inception_v3.default_image_size = 299  # type: ignore[attr-defined]


def _window_within(net: Any, size: int) -> list[int]:
    """Return a window of that height and width, or of the images' own if they are smaller."""
    height, width = net.shape.as_list()[1:3]
    return [size, size] if height is None or width is None else [min(height, size), min(width, size)]


def _mean_of_window(net: Any, size: int, keep_prob: float) -> Any:
    window = _window_within(net, size)
    net = avg_pool2d(net, window, padding="VALID", scope="AvgPool_1a_{}x{}".format(*window))
    return dropout(net, keep_prob=keep_prob, scope="Dropout_1b")


def _logits(net: Any, num_classes: int, squeeze: bool, place: str, **options: Any) -> Any:
    linear = {"activation_fn": None, "normalizer_fn": None, **options}
    logits = conv2d(net, num_classes, [1, 1], scope=f"Conv2d_{place}_1x1", **linear)
    return sg.squeeze(logits, [1, 2], name="SpatialSqueeze") if squeeze else logits


def _predict(end_points: Arguments, logits: Any, prediction_fn: Callable[..., Any]) -> None:
    end_points["Logits"] = logits
    end_points["Predictions"] = prediction_fn(logits, scope="Predictions")


def inception_v1_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: Any = "moving_vars",
) -> Scope:
    """Return the default arguments of the layers of version 1, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
        use_batch_norm: If False, layers have biases and are not normalized.
        batch_norm_var_collection: The collection of the moving averages.
    """
    normal = normal_parameters(batch_norm_var_collection) if use_batch_norm else None
    return inception_scope(weight_decay, normal)


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: Any = "moving_vars"
) -> Scope:
    """Return the default arguments of the layers of version 2; see `inception_v1_arg_scope`."""
    return inception_scope(weight_decay, normal_parameters(batch_norm_var_collection))


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: Any = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = sg.GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Scope:
    """Return the default arguments of the layers of version 3, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
        batch_norm_var_collection: The collection of the moving averages.
        batch_norm_decay: The decay of the moving averages.
        batch_norm_epsilon: A number added to variances.
        updates_collections: Collections of the operations that update the averages; None updates them
            whenever results are computed.
        use_fused_batchnorm: As `fused` of `slim.batch_norm`.
    """
    options = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "fused": use_fused_batchnorm,
    }
    return inception_scope(weight_decay, normal_parameters(batch_norm_var_collection, **options))
