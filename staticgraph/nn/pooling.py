"""Pooling, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.space import batch_to_space_nd, required_space_to_batch_paddings, space_to_batch_nd
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, int32, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.nn.convolutions import per_axis

_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def _pool(
    op: Any,
    spatial: int,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    data_format = data_format or _FORMATS[spatial]
    window, steps = (
        per_axis(ksize, spatial, data_format, "ksize"),
        per_axis(strides, spatial, data_format, "strides"),
    )
    return op(value, ksize=window, strides=steps, padding=padding, data_format=data_format, name=name)


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The largest element of each window of images [batch, height, width, channels].

    `ksize` and `strides` are a number, two, or four in the order of `data_format`; `padding` is 'SAME' or
    'VALID'. The gradient goes to the first of equal elements.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 28, 28, 32])
    >>> sg.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    <sg.Tensor 'MaxPool:0' shape=(?, 14, 14, 32) dtype=float32>
    """
    return _pool(
        ops.max_pool, 2, renamed("input", input, "value", value), ksize, strides, padding, data_format, name
    )


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window, see `max_pool`; padding does not count.

    >>> x = sg.reshape([1.0, 3.0, 5.0, 9.0], [1, 2, 2, 1])
    >>> sg.Session().run(sg.nn.avg_pool(x, [1, 1, 2, 1], [1, 1, 2, 1], "VALID")[0, :, 0, 0])
    array([2., 7.], dtype=float32)
    """
    return _pool(
        ops.avg_pool, 2, renamed("input", input, "value", value), ksize, strides, padding, data_format, name
    )


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """`max_pool` under its later name."""
    return _pool(ops.max_pool, 2, input, ksize, strides, padding, data_format, name)


avg_pool2d = avg_pool  # its later name


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """`max_pool` for volumes [batch, depth, height, width, channels]."""
    return _pool(ops.max_pool3d, 3, input, ksize, strides, padding, data_format, name)


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """`avg_pool` for volumes [batch, depth, height, width, channels]."""
    return _pool(ops.avg_pool3d, 3, input, ksize, strides, padding, data_format, name)


def _pool1d(
    op: Any,
    default: str,
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str,
    name: str | None,
) -> Tensor:
    """A sequence pooled as an image one element high."""
    with name_scope(name, default, [input]):
        first = data_format.startswith("NC")
        axis, place = (2, 2) if first else (1, 1)
        window, steps = (
            per_axis(v, 1, data_format, n)[place] for v, n in ((ksize, "ksize"), (strides, "strides"))
        )
        image = ops.expand_dims(convert_to_tensor(input), axis=axis)
        made = _pool(op, 2, image, (1, window), (1, steps), padding, "NCHW" if first else "NHWC", None)
        return ops.squeeze(made, axis=(axis,))


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """`max_pool` for sequences [batch, width, channels]."""
    return _pool1d(ops.max_pool, "MaxPool1d", input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """`avg_pool` for sequences [batch, width, channels]."""
    return _pool1d(ops.avg_pool, "AvgPool1D", input, ksize, strides, padding, data_format, name)


def _by_rank(
    kind: str, input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None, name: str | None
) -> Any:
    input = convert_to_tensor(input, name="input")
    rank = input.shape.ndims
    spatial: Any = {
        ("MAX", 3): max_pool1d,
        ("MAX", 4): max_pool2d,
        ("MAX", 5): max_pool3d,
        ("AVG", 3): avg_pool1d,
        ("AVG", 4): avg_pool2d,
        ("AVG", 5): avg_pool3d,
    }.get((kind, rank or 4))
    if spatial is None:
        raise misuse(ValueError, f"pooling: the input has rank {rank}; 3, 4 and 5 are possible")
    return spatial(input, ksize, strides, padding, data_format or _FORMATS[(rank or 4) - 2], name)


def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Max pooling over one, two or three spatial axes, by the rank of `input`."""
    return _by_rank("MAX", input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Average pooling over one, two or three spatial axes, by the rank of `input`."""
    return _by_rank("AVG", input, ksize, strides, padding, data_format, name)


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool`, and for each result the number of the element that it is.

    Elements are counted within their image, or with `include_batch_in_index` within the batch.
    """
    if data_format != "NHWC":
        raise misuse(ValueError, f"max_pool_with_argmax: data_format {data_format!r} must be 'NHWC'")
    wanted = as_dtype(renamed("output_dtype", output_dtype, "Targmax", Targmax) or int64)
    largest, where = ops.max_pool_with_argmax(
        input,
        ksize=per_axis(ksize, 2, data_format, "ksize"),
        strides=per_axis(strides, 2, data_format, "strides"),
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )
    return largest, where if wanted is int64 else ops.cast(where, dtype=wanted)


def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Pooling of `pooling_type` 'MAX' or 'AVG' over one, two or three spatial axes.

    `window_shape`, `strides` and `dilation_rate` have an entry per spatial axis. ValueError for dilated
    windows with strides above 1, or with padding 'SAME'.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 10, 3])
    >>> sg.nn.pool(x, [2], "MAX", "VALID", strides=[2]).shape.as_list()
    [None, 5, 3]
    """
    rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    needed("pool", window_shape=window_shape)
    if pooling_type not in ("MAX", "AVG"):
        raise misuse(ValueError, f"pool: pooling_type {pooling_type!r} is neither 'MAX' nor 'AVG'")
    strides = [1] * len(window_shape) if strides is None else list(strides)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]):
        if rate is None or set(rate) == {1}:
            return _by_rank(pooling_type, input, list(window_shape), strides, padding, data_format, None)
        if set(strides) != {1} or padding != "VALID":
            what = f"pool: dilation_rate is {list(rate)}, with strides {strides} and padding {padding!r}"
            raise misuse(ValueError, what, "strides must be 1 and padding 'VALID': pad before, slice after")
        return _dilated(pooling_type, input, list(window_shape), list(rate), data_format)


def _dilated(kind: str, input: Any, window: list[int], rate: list[int], data_format: str | None) -> Tensor:
    """Pool with gaps in the windows: every so many elements become an image of their own in the batch."""
    input = convert_to_tensor(input, name="input")
    if data_format is not None and data_format.startswith("NC"):
        rate = [1, *rate]  # the channels stay undivided
    sizes = ops.shape_of(input, out_type=int32)[1 : 1 + len(rate)]
    paddings, crops = required_space_to_batch_paddings(sizes, rate)
    divided = space_to_batch_nd(input, rate, paddings)
    made = _by_rank(kind, divided, window, [1] * len(window), "VALID", data_format, None)
    return batch_to_space_nd(made, rate, crops)
