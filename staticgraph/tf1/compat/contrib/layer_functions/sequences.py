"""`tf.contrib.layers` between images and sequences of columns, and with one kernel for all channels."""

from __future__ import annotations

from functools import partial
from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layer_utils import collect_named_outputs
from staticgraph.tf1.compat.contrib.layers import weighted


@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    activation_fn: Any = sg.nn.relu,
    *others: Any,
    **options: Any,
) -> Any:
    """Convolve each channel of images with the same kernel, then add biases and apply an activation.

    Args:
        inputs: Images [batch, height, width, channels].
        kernel_size: Height and width of the kernel, or one integer for both.
        stride: The steps of the kernel, one or two integers.
        padding: "SAME" or "VALID".
        activation_fn: The activation, or None.
        others, options: Those of `fully_connected`.

    Returns:
        Images with as many channels.
    """
    layer = partial(_InPlane, 1, kernel_size, stride, padding)
    return weighted(layer, "ConvInPlane", inputs, activation_fn, *others, **options)


class _InPlane(sg.layers.Conv2D):
    """The convolution of each channel with the one kernel of the layer."""

    leaves_unused = False

    def _build_kernels(self, channels: int) -> None:
        self.kernel = self._weight("kernel", [*self.kernel_size, 1, 1])

    def _outputs(self, channels: int) -> int:
        return channels

    def convolve(self, inputs: sg.Tensor) -> sg.Tensor:
        kernels = sg.tile(self.kernel, [1, 1, inputs.shape[-1].value, 1])
        return sg.nn.depthwise_conv2d(inputs, kernels, [1, *self.strides, 1], self.padding.upper())


conv2d_in_plane = convolution2d_in_plane


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: str | None = None
) -> sg.Tensor:
    """The columns of images as steps of time, each row of each image a sequence: for recurrent layers.

    Args:
        inputs: Images [batch, height, width, channels], or of another order by `data_format`.
        data_format: "NHWC" or "NCHW".
        outputs_collections: Collections that the result joins.
        scope: The name of the scope.

    Returns:
        A tensor [width, batch * height, channels].

    Raises:
        ValueError: Another data format.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise misuse(ValueError, f"images_to_sequence: data_format is NHWC or NCHW, not {data_format!r}")
    with sg.name_scope(scope, "ImagesToSequence", [inputs]) as opened:
        inputs = sg.convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = sg.transpose(inputs, [0, 2, 3, 1])
        batch, height, width, channels = (size_of(inputs, axis) for axis in range(4))
        outputs = sg.reshape(sg.transpose(inputs, [2, 0, 1, 3]), [width, batch * height, channels])
    return collect_named_outputs(outputs_collections, opened, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> sg.Tensor:
    """The inverse of `images_to_sequence`.

    Args:
        inputs: A tensor [width, batch * height, channels].
        height: The height of an image.
        output_data_format: "channels_last" or "channels_first".
        outputs_collections: Collections that the result joins.
        scope: The name of the scope.

    Returns:
        Images [batch, height, width, channels], or [batch, channels, height, width].
    """
    with sg.name_scope(scope, "SequenceToImages", [inputs]) as opened:
        inputs = sg.convert_to_tensor(inputs)
        width, rows, channels = (size_of(inputs, axis) for axis in range(3))
        rows = rows // height if isinstance(rows, int) else -1
        split = sg.reshape(inputs, [width, rows, height, channels])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        outputs = sg.transpose(split, order)
    return collect_named_outputs(outputs_collections, opened, outputs)
