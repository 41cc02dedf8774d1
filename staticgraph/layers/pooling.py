"""Pooling layers over one, two or three axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers.adapters import function_of
from staticgraph.layers.spatial import pool, sizes_of
from staticgraph.state.layer import Layer, check_rank


class Pooling(Layer):
    """Pooling over `rank` axes of space; `kind` is "max" or "avg"."""

    rank = 0
    kind = ""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        self.pool_size = sizes_of(pool_size, self.rank, "pool_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = text_of(padding, "padding").lower()
        self.data_format = text_of(data_format, "data_format").lower()

    def call(self, inputs: Tensor) -> Tensor:
        check_rank(inputs.shape, self.rank + 2, self.label)
        return pool(inputs, self.pool_size, self.strides, self.padding, self.data_format, self.kind)


class MaxPooling1D(Pooling):
    """The largest element of each window over one axis."""

    rank, kind = 1, "max"


class MaxPooling2D(Pooling):
    """The largest element of each window over two axes."""

    rank, kind = 2, "max"


class MaxPooling3D(Pooling):
    """The largest element of each window over three axes."""

    rank, kind = 3, "max"


class AveragePooling1D(Pooling):
    """The mean of each window over one axis."""

    rank, kind = 1, "avg"


class AveragePooling2D(Pooling):
    """The mean of each window over two axes."""

    rank, kind = 2, "avg"


class AveragePooling3D(Pooling):
    """The mean of each window over three axes."""

    rank, kind = 3, "avg"


@function_of(MaxPooling1D, reuse=False)
def max_pooling1d(inputs: Any, *args: Any, **options: Any) -> Any:
    """The largest element of each window of `inputs`, of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.max_pooling1d(sg.placeholder(sg.float32, [None, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 3]
    """


@function_of(MaxPooling2D, reuse=False)
def max_pooling2d(inputs: Any, *args: Any, **options: Any) -> Any:
    """The largest element of each window of `inputs`, of shape [batch, height, width, channels].

    `padding`: "valid", windows inside the input only, or "same", one window per stride.

    >>> import staticgraph as sg
    >>> sg.layers.max_pooling2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 4, 3]
    """


@function_of(MaxPooling3D, reuse=False)
def max_pooling3d(inputs: Any, *args: Any, **options: Any) -> Any:
    """The largest element of each window of `inputs`, of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.max_pooling3d(sg.placeholder(sg.float32, [None, 4, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 2, 4, 4, 3]
    """


@function_of(AveragePooling1D, reuse=False)
def average_pooling1d(inputs: Any, *args: Any, **options: Any) -> Any:
    """The mean of each window of `inputs`, of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.average_pooling1d(sg.placeholder(sg.float32, [None, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 3]
    """


@function_of(AveragePooling2D, reuse=False)
def average_pooling2d(inputs: Any, *args: Any, **options: Any) -> Any:
    """The mean of each window of `inputs`, of shape [batch, height, width, channels].

    `padding`: "valid", windows inside the input only, or "same", one window per stride.

    >>> import staticgraph as sg
    >>> sg.layers.average_pooling2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 4, 4, 3]
    """


@function_of(AveragePooling3D, reuse=False)
def average_pooling3d(inputs: Any, *args: Any, **options: Any) -> Any:
    """The mean of each window of `inputs`, of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.average_pooling3d(sg.placeholder(sg.float32, [None, 4, 8, 8, 3]), 2, 2).shape.as_list()
    [None, 2, 4, 4, 3]
    """
