"""The language of the tables of Inception nets: layers, branches that are concatenated, and end points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope, arg_scope
from staticgraph.tf1.compat.contrib.layer_functions.convolutions import conv2d
from staticgraph.tf1.compat.contrib.layer_functions.pooling import avg_pool2d, max_pool2d
from staticgraph.tf1.compat.contrib.layer_functions.separable import separable_conv2d
from staticgraph.tf1.compat.contrib.layers import batch_norm, fully_connected, variance_scaling_initializer
from staticgraph.tf1.compat.contrib.regularizers import l2_regularizer
from staticgraph.tf1.compat.nets.plain import normal_weights

__all__: list[str] = []

Arguments = dict[str, Any]
Depth = Callable[[int], int]  # the number of channels of a net that is thinner or thicker than the paper's


class Conv(NamedTuple):
    """A convolution.

    Attributes:
        place: The place in its branch as the scope has it, such as "0a"; the whole scope if it has a "_".
        window: Height and width of the kernels, such as "3x3".
        depth: The number of channels.
        stride: The steps of the kernels.
        padding: "SAME", "VALID", or empty for that of the table.
        stddev: The deviation of the first weights; 0 for the initializer of the `arg_scope`.
        separable: If True, each channel is convolved by itself first.
    """

    place: str
    window: str
    depth: int
    stride: int = 1
    padding: str = ""
    stddev: float = 0
    separable: bool = False

    def apply(self, net: Any, padding: str, depth: Depth) -> Any:
        """Return the convolution of images."""
        scope = self.place if "_" in self.place else f"Conv2d_{self.place}_{self.window}"
        window = [int(size) for size in self.window.split("x")]
        options: Arguments = {"stride": self.stride, "padding": self.padding or padding, "scope": scope}
        if self.stddev:
            options["weights_initializer"] = normal_weights(self.stddev)
        if not self.separable:
            return conv2d(net, depth(self.depth), window, **options)
        # More kernels for each channel than this would have more results than the net has channels.
        kernels = min(depth(self.depth) // 3, 8)
        return separable_conv2d(net, depth(self.depth), window, depth_multiplier=kernels, **options)


class Pool(NamedTuple):
    """A pool, of kind "Max" or "Avg"; see `Conv`."""

    kind: str
    place: str
    window: str = "3x3"
    stride: int = 1
    padding: str = ""

    def apply(self, net: Any, padding: str, depth: Depth) -> Any:
        """Return the pool of images."""
        pool = max_pool2d if self.kind == "Max" else avg_pool2d
        scope = f"{self.kind}Pool_{self.place}_{self.window}"
        window = [int(size) for size in self.window.split("x")]
        return pool(net, window, stride=self.stride, padding=self.padding or padding, scope=scope)


class Side(NamedTuple):
    """Convolutions of the same images side by side, whose channels are concatenated."""

    layers: tuple[Conv, ...]

    def apply(self, net: Any, padding: str, depth: Depth) -> Any:
        """Return the channels of all."""
        return sg.concat([layer.apply(net, padding, depth) for layer in self.layers], 3)


Layer = Conv | Pool | Side


class Mixed(NamedTuple):
    """An Inception module: branches from the same images, whose channels are concatenated."""

    name: str
    branches: tuple[tuple[Layer, ...], ...]

    def apply(self, net: Any, padding: str, depth: Depth) -> Any:
        """Return the channels of all branches."""
        with sg.variable_scope(self.name):
            ends = []
            for number, branch in enumerate(self.branches):
                end = net
                with sg.variable_scope(f"Branch_{number}"):
                    for layer in branch:
                        end = layer.apply(end, padding, depth)
                ends.append(end)
            return sg.concat(ends, 3)


class Table(NamedTuple):
    """A net without its logits.

    Attributes:
        name: The scope of a net that is given none.
        stem: The first layers, each of which is an end point.
        stem_padding: The padding of those.
        modules: The modules and pools after them, which have padding "SAME".
        stddev: The deviation of the first weights of all convolutions; 0 as for `Conv`.
    """

    name: str
    stem: tuple[Conv | Pool, ...]
    stem_padding: str
    modules: tuple[Mixed | Pool, ...]
    stddev: float = 0


def end_point_of(layer: Conv | Pool | Mixed) -> str:
    """Return the name of a layer among the end points."""
    if isinstance(layer, Mixed):
        return layer.name
    kind = "Conv2d" if isinstance(layer, Conv) else f"{layer.kind}Pool"
    return f"{kind}_{layer.place}_{layer.window}"


def depth_of(depth_multiplier: float, min_depth: int) -> Depth:
    """Return the function from a depth of the paper to that of a net that is thinner or thicker.

    Raises:
        ValueError: If the multiplier is not positive.

    >>> depth_of(0.5, 16)(64), depth_of(0.1, 16)(64)
    (32, 16)
    """
    if depth_multiplier <= 0:
        raise misuse(ValueError, f"depth_multiplier={depth_multiplier} is not positive")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def base_of(
    table: Table, inputs: Any, final_endpoint: str, depth: Depth, scope: Any
) -> tuple[Any, Arguments]:
    """Build a net up to an end point.

    Args:
        table: Its layers.
        inputs: Images [batch, height, width, channels].
        final_endpoint: The name of the last layer.
        depth: The function from the depths of the table to those of the net.
        scope: The scope of the variables; None for the table's own.

    Returns:
        The result of the last layer, and those of all before it by name.

    Raises:
        ValueError: If there is no such layer.
    """
    rows: list[tuple[Conv | Pool | Mixed, str]] = [(layer, table.stem_padding) for layer in table.stem]
    rows += [(layer, "SAME") for layer in table.modules]
    names = [end_point_of(layer) for layer, _ in rows]
    if final_endpoint not in names:
        raise misuse(ValueError, f"final_endpoint={final_endpoint!r} is none of {', '.join(names)}")
    weights = {"weights_initializer": normal_weights(table.stddev)} if table.stddev else {}
    net, end_points = inputs, {}
    with (
        sg.variable_scope(scope, table.name, [inputs]),
        arg_scope([conv2d, fully_connected], **weights),
    ):
        for name, (layer, padding) in zip(names, rows, strict=True):
            net = end_points[name] = layer.apply(net, padding, depth)
            if name == final_endpoint:
                break
    return net, end_points


def inception_scope(weight_decay: float, normal: Arguments | None) -> Scope:
    """Return an `arg_scope` of these nets.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
        normal: The arguments of batch normalization; None for biases in its place.
    """
    decay = l2_regularizer(weight_decay)
    convolution = {
        "weights_initializer": variance_scaling_initializer(),
        "activation_fn": sg.nn.relu,
        "normalizer_fn": None if normal is None else batch_norm,
        "normalizer_params": normal or {},
    }
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=decay),
        arg_scope([conv2d], **convolution) as scope,
    ):
        return scope


def normal_parameters(collection: Any, **options: Any) -> Arguments:
    """Return the arguments of batch normalization, whose moving averages go into a collection."""
    moving = {name: [collection] for name in ("moving_mean", "moving_variance")}
    collections = {"beta": None, "gamma": None, **moving}
    common = {"decay": 0.9997, "epsilon": 0.001, "updates_collections": sg.GraphKeys.UPDATE_OPS}
    return {**common, "variables_collections": collections, **options}
