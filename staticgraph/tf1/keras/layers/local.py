"""Convolutions whose weights are others at each place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.arrays import array_ops
from staticgraph.building.signatures import with_defaults
from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.layers.adapters import with_weights
from staticgraph.layers.spatial import count_of, sizes_of
from staticgraph.linear_algebra import linalg
from staticgraph.sparse.math import matmul as sparse_tensor_dense_matmul
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.state.input_spec import InputSpec
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import activations
from staticgraph.tf1.keras.backend.local import local_conv
from staticgraph.tf1.keras.engine.arguments import OF_WEIGHTS, OF_WINDOWS, weight_options
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.settings import checked_format


class _LocallyConnected(Layer):
    """A convolution over `rank` axes with a kernel for each place of the output."""

    config_names: tuple[str, ...] = (*OF_WINDOWS, *OF_WEIGHTS, "implementation")
    rank: int

    @with_weights(before="implementation", kernel="glorot_uniform", bias="zeros")
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        self.weight_options = weight_options(kwargs, "kernel", "bias")
        super().__init__(**kwargs)
        self.filters = count_of(filters, "filters")
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = text_of(padding, "padding").lower()
        if implementation not in (1, 2, 3):
            raise misuse(ValueError, f"implementation={implementation!r} is not 1, 2 or 3")
        if self.padding not in ("valid", "same"):
            raise misuse(ValueError, f"padding={padding!r} is not valid or same")
        if self.padding == "same" and implementation == 1:
            hint = "implementation=2 and 3 pad with zeros"
            raise misuse(ValueError, 'padding="same" is not supported by implementation=1', hint)
        self.data_format = checked_format(data_format)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.implementation = implementation
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _channels_first(self) -> bool:
        return bool(self.data_format == "channels_first")

    def build(self, input_shape: Any) -> None:
        spatial = range(2, self.rank + 2) if self._channels_first else range(1, self.rank + 1)
        self._inputs = tuple(known_size(input_shape, axis, self.name) for axis in spatial)
        channel_axis = 1 if self._channels_first else self.rank + 1
        channels = known_size(input_shape, channel_axis, self.name)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={channel_axis: channels})
        self._outputs = tuple(
            -(-(n - (k - 1 if self.padding == "valid" else 0)) // s)
            for n, k, s in zip(self._inputs, self.kernel_size, self.strides, strict=True)
        )
        if min(self._outputs) < 1:
            text = f"{self.name}: windows of {self.kernel_size} do not fit into inputs of {self._inputs}"
            raise misuse(ValueError, text)
        self.kernel = self.add_weight("kernel", self._kernel_shape(channels), **self.weight_options["kernel"])
        if self.use_bias:
            shape = [*self._outputs, self.filters]
            self.bias = self.add_weight("bias", shape, **self.weight_options["bias"])
        self.built = True

    def _kernel_shape(self, channels: int) -> list[int]:
        """The shape of the kernel; it has all pairs of an input and an output, or only those connected."""
        if self.implementation == 1:
            return [math.prod(self._outputs), math.prod(self.kernel_size) * channels, self.filters]
        self._pairs = sorted(self._connections(channels))
        self._sizes = self.filters * math.prod(self._outputs), channels * math.prod(self._inputs)
        if self.implementation == 3:
            return [len(self._pairs)]
        return [
            *self._placed(self._inputs, channels),
            *self._placed(self._outputs, self.filters),
        ]

    def _placed(self, sizes: Sequence[Any], channels: Any) -> list[Any]:
        """Sizes or places along the axes of space, and channels, in the layer's order."""
        return [channels, *sizes] if self._channels_first else [*sizes, channels]

    def _connections(self, channels: int) -> Iterator[tuple[int, int]]:
        """Yield the number of an element of the output, and of one of the input that it depends on."""
        outputs = self._placed(self._outputs, self.filters)
        inputs = self._placed(self._inputs, channels)
        for place in itertools.product(*map(range, self._outputs)):
            windows = map(self._window, place, self.kernel_size, self.strides, self._inputs)
            for seen in itertools.product(*windows):
                for there, here in itertools.product(range(self.filters), range(channels)):
                    yield (
                        int(np.ravel_multi_index(self._placed(place, there), outputs)),
                        int(np.ravel_multi_index(self._placed(seen, here), inputs)),
                    )

    def _window(self, place: int, size: int, stride: int, length: int) -> range:
        """The places of the input that a place of the output sees, along one axis."""
        begin = place * stride - (0 if self.padding == "valid" else size // 2)
        return range(max(0, begin), min(length, begin + size))

    def call(self, inputs: Any) -> Any:
        if self.implementation == 1:
            made = local_conv(
                inputs, self.kernel, self.kernel_size, self.strides, self._outputs, self.data_format
            )
        else:
            flat = array_ops.reshape(inputs, [-1, self._sizes[1]])
            made = self._masked(flat) if self.implementation == 2 else self._sparse(flat)
            made = array_ops.reshape(made, [-1, *self._placed(self._outputs, self.filters)])
        if self.use_bias:
            # With channels first, too, the numbers stand in TensorFlow's order: weights fit its files.
            made = made + array_ops.reshape(self.bias, [1, *self._placed(self._outputs, self.filters)])
        return self.activation(made)

    def _masked(self, flat: Any) -> Any:
        """The product with a matrix that is zero where nothing is connected."""
        mask = np.zeros(self._sizes[::-1], self.kernel.dtype.numpy)
        mask[[seen for _, seen in self._pairs], [place for place, _ in self._pairs]] = 1
        return linalg.matmul(flat, array_ops.reshape(self.kernel, self._sizes[::-1]) * mask)

    def _sparse(self, flat: Any) -> Any:
        """The product with a sparse matrix."""
        matrix = SparseTensor(np.array(self._pairs, np.int64), self.kernel.read_value(), self._sizes)
        return array_ops.transpose(sparse_tensor_dense_matmul(matrix, flat, adjoint_b=True))


class LocallyConnected1D(_LocallyConnected):
    """A convolution over sequences [batch, steps, channels] with other weights at each step.

    Args:
        filters: The number of channels of the output.
        kernel_size: The length of the windows.
        strides: The distance of the windows, 1 by default.
        padding: "valid", or "same" with `implementation` 2 or 3.
        data_format: "channels_last" or "channels_first"; that of Keras by default.
        activation: A function of the output, or its name; none by default.
        use_bias: True, the default: there is a bias for each step and channel.
        implementation: The way to compute, which decides the shape of the kernel: 1, a product of each
            window; 2, one product with a masked matrix; 3, one with a sparse matrix.

    Raises:
        ValueError: For padding="same" with `implementation=1`, and for inputs smaller than a window.

    >>> import staticgraph as sg
    >>> sg.keras.layers.LocallyConnected1D(4, 3)(sg.keras.Input([10, 2])).shape.as_list()
    [None, 8, 4]
    """

    rank = 1


class LocallyConnected2D(_LocallyConnected):
    """A convolution over images with other weights at each place: see `LocallyConnected1D`.

    >>> import staticgraph as sg
    >>> sg.keras.layers.LocallyConnected2D(4, 3, strides=2)(sg.keras.Input([9, 9, 1])).shape.as_list()
    [None, 4, 4, 4]
    """

    rank = 2

    __init__ = with_defaults(_LocallyConnected, strides=(1, 1))
