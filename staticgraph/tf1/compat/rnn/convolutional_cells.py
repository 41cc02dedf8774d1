"""`tf.contrib.rnn.ConvLSTMCell`: long short-term memories over sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.nn.rnn_cell import LSTMStateTuple, RNNCell


class ConvLSTMCell(RNNCell):
    """A long short-term memory whose gates are a convolution of the inputs and the state (Shi et al. 2015).

    Args:
        conv_ndims: The number of axes of space: 1, 2 or 3.
        input_shape: The shape of an input without the batch, [..., channels].
        output_channels: The number of channels of the state.
        kernel_shape: The size of the kernel along each axis of space.
        use_bias: If the convolution has a bias.
        skip_connection: If the inputs are a part of the outputs.
        forget_bias: Added to the forget gate.
        initializers: Not used.
        name: The scope of the cell.

    Raises:
        ValueError: If `input_shape` does not have `conv_ndims + 1` sizes.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            text = f"ConvLSTMCell(input_shape): {input_shape} does not have {conv_ndims} axes and channels"
            raise misuse(ValueError, text)
        self._space, self._channels = list(input_shape[:-1]), output_channels
        self._kernel_shape, self._use_bias = list(kernel_shape), use_bias
        self._forget_bias, self._skips = forget_bias, skip_connection
        self._total = output_channels + (input_shape[-1] if skip_connection else 0)

    @property
    def state_size(self) -> LSTMStateTuple:
        size = TensorShape([*self._space, self._channels])
        return LSTMStateTuple(size, size)

    @property
    def output_size(self) -> TensorShape:
        return TensorShape([*self._space, self._total])

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        c, h = state
        i, j, f, o = sg.split(self._convolved(sg.concat([inputs, h], -1)), 4, -1)
        c = sg.sigmoid(f + self._forget_bias) * c + sg.sigmoid(i) * sg.tanh(j)
        h = sg.tanh(c) * sg.sigmoid(o)
        output = sg.concat([h, inputs], -1) if self._skips else h
        return output, LSTMStateTuple(c, output)

    def _convolved(self, x: sg.Tensor) -> sg.Tensor:
        """Return the four gates of what goes into them."""
        width, dtype = 4 * self._channels, x.dtype
        kernel = sg.get_variable("kernel", [*self._kernel_shape, x.shape[-1].value, width], dtype)
        made = sg.nn.convolution(x, kernel, "SAME")
        if not self._use_bias:
            return made
        return made + sg.get_variable("biases", [width], dtype, sg.constant_initializer(0.0, dtype=dtype))


def _over(rank: int) -> type[ConvLSTMCell]:
    """Return the cell over `rank` axes of space."""

    class Cell(ConvLSTMCell):
        def __init__(self, name: str = f"conv_{rank}d_lstm_cell", **kwargs: Any) -> None:
            super().__init__(conv_ndims=rank, name=name, **kwargs)

    Cell.__doc__ = f"`ConvLSTMCell` over {rank} axes of space, with its arguments by name."
    Cell.__name__ = Cell.__qualname__ = f"Conv{rank}DLSTMCell"
    return Cell


Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell = _over(1), _over(2), _over(3)
