"""Convolutions, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.building.framework import checked, get_default_graph, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import list_of, whole_of
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    count_more,
    counted_as,
)
from staticgraph.compiler.graph.tensor import Tensor

Ints = tuple[int, ...]


def _padding_attrs(padding: Any) -> dict[str, Any]:
    """The attributes for 'SAME', 'VALID', or a list of (before, after) per axis."""
    if isinstance(padding, str):
        return {"padding": padding}
    if padding is None:
        raise misuse(
            ValueError, "padding must be given: 'SAME', 'VALID', or a list of (before, after) for each axis"
        )
    return {"padding": "EXPLICIT", "explicit_paddings": tuple(_pairs(padding))}


def _pairs(padding: Any) -> Iterator[int]:
    """The numbers before and after each axis."""
    for pair in list_of(padding, "padding"):
        for number in list_of(pair, "a padding of an axis"):
            yield whole_of(number, "a padding")


def _channels_first(data_format: str | None) -> bool:
    return data_format is not None and data_format.startswith("NC")


def per_axis(value: Any, spatial: int, data_format: str | None, name: str) -> Ints:
    """`value` for every axis: given as one number, as one per spatial axis, or as one per axis."""
    values: Ints = (1,) if value is None else (value,)
    if value is not None and not isinstance(value, int):
        values = tuple(whole_of(each, f"an entry of {name}") for each in list_of(value, name))
    if len(values) == 1:
        values = values * spatial
    if len(values) == spatial:
        return (1, 1, *values) if _channels_first(data_format) else (1, *values, 1)
    if len(values) != spatial + 2:
        raise misuse(
            ValueError,
            f"{name} {list(values)} has {len(values)} entries: 1, {spatial} or {spatial + 2} are possible",
        )
    return values


def layer_attrs(
    strides: Any, padding: Any, data_format: str | None, dilations: Any, spatial: int = 2
) -> dict[str, Any]:
    """The attributes that all convolutions over `spatial` axes have, as ops take them."""
    return {
        "strides": per_axis(strides, spatial, data_format, "strides"),
        **_padding_attrs(padding),
        "data_format": data_format or {2: "NHWC", 3: "NDHWC"}[spatial],
        "dilations": per_axis(dilations, spatial, data_format, "dilations"),
    }


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolution of images [batch, height, width, channels]
    with `filter` [height, width, channels, outputs].

    `strides` and `dilations` are a number, two, or four, in the order of `data_format`. `padding` is 'SAME'
    (as many positions as strides fit), 'VALID' (none) or a list of (before, after) per axis. `data_format`
    'NCHW' has channels second. `use_cudnn_on_gpu` changes nothing.

    >>> import staticgraph as sg
    >>> images = sg.placeholder(sg.float32, [None, 28, 28, 1])
    >>> sg.nn.conv2d(images, sg.ones([5, 5, 1, 32]), strides=[1, 2, 2, 1], padding="SAME")
    <sg.Tensor 'Conv2D:0' shape=(?, 14, 14, 32) dtype=float32>
    """
    filter = renamed("filter", filter, "filters", filters)
    needed("conv2d", filter=filter)
    return ops.conv2d(
        input,
        filter,
        **layer_attrs(strides, padding, data_format, dilations),
        name=name,
    )


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of `conv2d` by its input of shape `input_sizes`; that by its result is `out_backprop`."""
    filter = renamed("filter", filter, "filters", filters)
    needed("conv2d_backprop_input", filter=filter, out_backprop=out_backprop)
    return ops.conv2d_backprop_input(
        filter,
        out_backprop,
        input_sizes=input_sizes,
        **layer_attrs(strides, padding, data_format, dilations),
        name=name,
    )


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its filter of shape `filter_sizes`, given that by its result."""
    return ops.conv2d_backprop_filter(
        input,
        out_backprop,
        filter_sizes=filter_sizes,
        **layer_attrs(strides, padding, data_format, dilations),
        name=name,
    )


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The gradient of `conv2d` by its input, used as a layer that enlarges: `value` is what came out of it.

    `filter` has shape [height, width, outputs, channels of value], `output_shape` is the shape of the result.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [8, 7, 7, 64])
    >>> sg.nn.conv2d_transpose(x, sg.ones([5, 5, 32, 64]), [8, 14, 14, 32], strides=2).shape.as_list()
    [8, 14, 14, 32]
    """
    value, filter = renamed("input", input, "value", value), renamed("filter", filter, "filters", filters)
    return _transposed(2, value, filter, output_shape, strides, padding, data_format, dilations, name)


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """`conv2d_transpose` for volumes [batch, depth, height, width, channels]."""
    value, filter = renamed("input", input, "value", value), renamed("filter", filter, "filters", filters)
    return _transposed(3, value, filter, output_shape, strides, padding, data_format, dilations, name)


def _transposed(
    spatial: int,
    value: Any,
    filter: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: str,
    dilations: Any,
    name: str | None,
) -> Tensor:
    function = f"conv{spatial}d_transpose"
    op = ops.conv2d_backprop_input if spatial == 2 else ops.conv3d_backprop_input
    needed(function, input=value, filter=filter, output_shape=output_shape, strides=strides)
    with name_scope(name, function, [value, filter, output_shape]) as scope:
        value = convert_to_tensor(value, name="value")
        filter = convert_to_tensor(filter, dtype=value.dtype, name="filter")
        made = op(
            filter,
            value,
            input_sizes=convert_to_tensor(output_shape, name="output_shape"),
            **layer_attrs(strides, padding, data_format, dilations, spatial),
            name=scope,
        )
        axis = 1 if _channels_first(data_format) else -1
        with checked(function):
            counts = value.shape[axis].value, filter.shape[-1].value
            require(
                None in counts or len(set(counts)) == 1,
                f"input has {counts[0]} channels, filter takes {counts[1]}",
            )
        return made


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`, by the length of `output_shape`."""
    count = output_shape.shape[0].value if isinstance(output_shape, Tensor) else len(output_shape)
    spatial: Any = {3: conv1d_transpose, 4: conv2d_transpose, 5: conv3d_transpose}.get(count or 0)
    if spatial is None:
        raise misuse(ValueError, f"conv_transpose: output_shape has {count} entries; 3, 4 and 5 are possible")
    formats = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
    return spatial(
        input,
        filters,
        output_shape,
        strides,
        padding,
        data_format or formats[count],
        dilations=dilations,
        name=name,
    )


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """`conv2d` for volumes [batch, depth, height, width, channels]."""
    filter = renamed("filter", filter, "filters", filters)
    needed("conv3d", filter=filter)
    return ops.conv3d(
        input,
        filter,
        **layer_attrs(strides, padding, data_format, dilations, 3),
        name=name,
    )


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv3d` by its filter of shape `filter_sizes`, given that by its result."""
    return ops.conv3d_backprop_filter(
        input,
        out_backprop,
        filter_sizes=filter_sizes,
        **layer_attrs(strides, padding, data_format, dilations, 3),
        name=name,
    )


conv3d_backprop_filter_v2 = conv3d_backprop_filter


def _flat_format(data_format: str | None) -> tuple[str, int]:
    """Data format and axis to add, for sequences treated as images one element high."""
    if data_format not in (None, "NWC", "NHWC", "NCW", "NCHW"):
        raise misuse(ValueError, f"data_format {data_format!r} is neither 'NWC' nor 'NCW'")
    return ("NCHW", 2) if _channels_first(data_format) else ("NHWC", 1)


def _flat_steps(strides: Any, dilations: Any, data_format: str | None) -> tuple[Ints, Ints]:
    """Strides and dilations of a sequence as those of an image one element high."""
    flat, axis = _flat_format(data_format)
    of_width = [
        per_axis(v, 1, flat, name)[axis] for v, name in ((strides, "stride"), (dilations, "dilations"))
    ]
    one, other = ((1, 1, 1, n) if axis == 2 else (1, 1, n, 1) for n in of_width)
    return one, other


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """`conv2d` for sequences [batch, width, channels], with filters [width, channels, outputs].

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 10, 3])
    >>> sg.nn.conv1d(x, sg.ones([3, 3, 8]), stride=1, padding="SAME").shape.as_list()
    [None, 10, 8]
    """
    value = renamed("input", input, "value", value)
    needed("conv1d", input=value, filters=filters)
    with name_scope(name, "conv1d", [value, filters]):
        flat, axis = _flat_format(data_format)
        image = ops.expand_dims(convert_to_tensor(value), axis=axis)
        filters = ops.expand_dims(convert_to_tensor(filters), axis=0)
        strides, rates = _flat_steps(stride, dilations, data_format)
        made = conv2d(image, filters, strides, padding, data_format=flat, dilations=rates)
        return ops.squeeze(made, axis=(axis,))


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv2d_transpose` for sequences [batch, width, channels]."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]):
        flat, axis = _flat_format(data_format)
        steps, rates = _flat_steps(strides, dilations, data_format)
        shape = convert_to_tensor(output_shape, dtype=int32)
        shape = ops.concat([shape[:axis], convert_to_tensor([1]), shape[axis:]], axis=0)
        made = conv2d_transpose(
            ops.expand_dims(convert_to_tensor(input), axis=axis),
            ops.expand_dims(convert_to_tensor(filters), axis=0),
            shape,
            steps,
            padding,
            flat,
            dilations=rates,
        )
        return ops.squeeze(made, axis=(axis,))


def convolution(
    input: Any,
    filter: Any = None,
    padding: Any = None,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution over one, two or three spatial axes, by the rank of `filter`.

    `strides` and `dilation_rate` have an entry per spatial axis.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 9, 9, 3])
    >>> sg.nn.convolution(x, sg.ones([3, 3, 3, 4]), "VALID", dilation_rate=[2, 2]).shape.as_list()
    [None, 5, 5, 4]
    """
    filter = renamed("filter", filter, "filters", filters)
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    needed("convolution", filter=filter, padding=padding)
    filter = convert_to_tensor(filter, name="filter")
    with name_scope(name, "convolution", [input, filter]):
        count_more(filter.graph, spreading_to_batch(input, padding, dilation_rate, data_format))
        match filter.shape.ndims:
            case 3:
                return conv1d(
                    input, filter, strides, padding, data_format=data_format, dilations=dilation_rate
                )
            case 4:
                return conv2d(input, filter, strides, padding, True, data_format or "NHWC", dilation_rate)
            case 5:
                return conv3d(input, filter, strides, padding, data_format or "NDHWC", dilation_rate)
        raise misuse(
            ValueError, f"convolution: filter has rank {filter.shape.ndims}; 3, 4 and 5 are possible"
        )


def spreading_to_batch(inputs: Any, padding: str, rate: Any, data_format: str | None) -> int:
    """Return the number of operations by which TensorFlow makes a batch of what a filter with distant taps
    sees, and images of it again.

    Args:
        inputs: What is convolved.
        padding: 'SAME' or 'VALID', which pads less.
        rate: The distances of the taps, of all axes or of each.
        data_format: The order of the axes of `inputs`, or None for channels at the end.
    """
    if rate is None or (np.asarray(rate) == 1).all():
        return 0
    sizes = inputs.type.shape or (None,) if isinstance(inputs, Tensor) else np.shape(inputs)
    spatial = sizes[2:] if data_format is not None and data_format.startswith("NC") else sizes[1:-1]
    return 11 + (padding.upper() == "SAME") + (63 if None in spatial else 0)


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Tensor:
    """`conv2d` with the taps of the filter `rate` elements apart, along height and width."""
    with counted_as(get_default_graph(), 1):
        outputs = conv2d(value, filters, 1, padding, dilations=rate, name=name)
    count_more(outputs.graph, spreading_to_batch(value, padding, rate, None))
    count_backward(outputs, BackwardCount(2, added=True))  # space to batch, and back
    return outputs


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """`conv2d_transpose` with the taps of the filter `rate` elements apart."""
    return conv2d_transpose(value, filters, output_shape, 1, padding, name=name, dilations=rate)
