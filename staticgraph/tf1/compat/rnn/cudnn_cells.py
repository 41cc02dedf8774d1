"""`tf.contrib.cudnn_rnn`: the cells with which variables trained by cuDNN are used without it."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.nn.rnn_cell import GRUCell
from staticgraph.state.initializers import Constant
from staticgraph.state.layer import known_size
from staticgraph.tf1.compat.rnn.recurrent_cells import LSTMBlockCell


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM without a bias of the forget gate."""

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """A GRU whose reset gate is applied after the product with the state."""

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, input_shape: sg.TensorShape) -> None:
        units, features = self._num_units, known_size(input_shape, -1, self.label)
        start: Any = self._kernel_initializer
        ones, zeros = (Constant(value) for value in (1.0, 0.0))
        self._gate_kernel = self.add_weight("gates/kernel", [features + units, 2 * units], initializer=start)
        self._gate_bias = self.add_weight("gates/bias", [2 * units], initializer=ones)
        of_input, of_state = "candidate/input_projection", "candidate/hidden_projection"
        self._input_kernel = self.add_weight(f"{of_input}/kernel", [features, units], initializer=start)
        self._state_kernel = self.add_weight(f"{of_state}/kernel", [units, units], initializer=start)
        self._input_bias = self.add_weight(f"{of_input}/bias", [units], initializer=zeros)
        self._state_bias = self.add_weight(f"{of_state}/bias", [units], initializer=zeros)
        self.built = True

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        both = sg.matmul(sg.concat([inputs, state], 1), self._gate_kernel)
        r, u = sg.split(sg.sigmoid(sg.nn.bias_add(both, self._gate_bias)), 2, 1)
        candidate = sg.nn.xw_plus_b(inputs, self._input_kernel, self._input_bias)
        candidate += r * sg.nn.xw_plus_b(state, self._state_kernel, self._state_bias)
        return self._mixed(u, state, candidate)
