"""Pooling layers over one, two or three axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers.convolution import data_format_of, sizes_of
from staticgraph.state.layer import Layer, check_rank


class _Pooling(Layer):
    """Pooling over `rank` axes of space; `kind` is "max" or "avg"."""

    rank = 0
    kind = ""

    def __init__(
        self, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
        name: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **options)
        self.pool_size = sizes_of(pool_size, self.rank, "pool_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = padding.upper()
        self.data_format = data_format

    def call(self, inputs: Tensor) -> Tensor:
        check_rank(inputs.shape, self.rank + 2, self.name)
        if self.rank == 1:  # as pooling over a plane that is one element high
            space = 2 if self.data_format == "channels_last" else 3
            outputs = self._pool(
                ops.expand_dims(inputs, axis=space), (*self.pool_size, 1), (*self.strides, 1)
            )
            return ops.squeeze(outputs, axis=(space,))
        return self._pool(inputs, self.pool_size, self.strides)

    def _pool(self, inputs: Tensor, pool_size: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        over_space = {
            (2, "max"): nn.max_pool,
            (2, "avg"): nn.avg_pool,
            (3, "max"): nn.max_pool3d,
            (3, "avg"): nn.avg_pool3d,
        }
        last = self.data_format == "channels_last"
        ksize = (1, *pool_size, 1) if last else (1, 1, *pool_size)
        steps = (1, *strides, 1) if last else (1, 1, *strides)
        function: Any = over_space[len(pool_size), self.kind]
        return function(inputs, ksize, steps, self.padding, data_format_of(self.data_format, len(pool_size)))


class MaxPooling1D(_Pooling):
    """The largest element of each window over one axis."""

    rank, kind = 1, "max"


class MaxPooling2D(_Pooling):
    """The largest element of each window over two axes."""

    rank, kind = 2, "max"


class MaxPooling3D(_Pooling):
    """The largest element of each window over three axes."""

    rank, kind = 3, "max"


class AveragePooling1D(_Pooling):
    """The mean of each window over one axis."""

    rank, kind = 1, "avg"


class AveragePooling2D(_Pooling):
    """The mean of each window over two axes."""

    rank, kind = 2, "avg"


class AveragePooling3D(_Pooling):
    """The mean of each window over three axes."""

    rank, kind = 3, "avg"


def max_pooling1d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The largest element of each window of `inputs`, of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.max_pooling1d(sg.placeholder(sg.float32, [None, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 3]
    """
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling2d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The largest element of each window of `inputs`, of shape [batch, height, width, channels].

    `padding`: "valid", windows inside the input only, or "same", one window per stride.

    >>> import staticgraph as sg
    >>> sg.layers.max_pooling2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 4, 3]
    """
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling3d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The largest element of each window of `inputs`, of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.max_pooling3d(sg.placeholder(sg.float32, [None, 4, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 2, 4, 4, 3]
    """
    return MaxPooling3D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of `inputs`, of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.average_pooling1d(sg.placeholder(sg.float32, [None, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 3]
    """
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of `inputs`, of shape [batch, height, width, channels].

    `padding`: "valid", windows inside the input only, or "same", one window per stride.

    >>> import staticgraph as sg
    >>> sg.layers.average_pooling2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 4, 3]
    """
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling3d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of `inputs`, of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.average_pooling3d(sg.placeholder(sg.float32, [None, 4, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 2, 4, 4, 3]
    """
    return AveragePooling3D(pool_size, strides, padding, data_format, name)(inputs)
