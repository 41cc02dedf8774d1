"""The simplest cells: `BasicRNNCell` and the gated recurrent unit."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, split
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.products import matmul, tensordot
from staticgraph.nn.activation import activation_of, sigmoid, tanh
from staticgraph.nn.bias import bias_add
from staticgraph.nn.rnn_cell.base import LayerRNNCell, OfUnits, Step
from staticgraph.state.initializers import Constant, Zeros
from staticgraph.state.layer import known_size
from staticgraph.state.variables import Variable


def rows_times(inputs: Tensor, kernel: Any, bias: Any) -> Tensor:
    """`inputs @ kernel + bias` for inputs [time, batch, features], in one product."""
    return bias_add(tensordot(inputs, kernel, [[2], [0]]), bias)


class BasicRNNCell(OfUnits, LayerRNNCell):
    """`output = state = activation([inputs, state] @ kernel + bias)`; the activation is tanh.

    >>> import staticgraph as sg
    >>> cell = sg.nn.rnn_cell.BasicRNNCell(16)
    >>> outputs, state = sg.nn.dynamic_rnn(cell, sg.placeholder(sg.float32, [None, 10, 4]), dtype=sg.float32)
    >>> outputs.shape.as_list(), [v.name for v in cell.weights]
    ([None, 10, 16], ['rnn/basic_rnn_cell/kernel:0', 'rnn/basic_rnn_cell/bias:0'])
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = activation_of(activation) or tanh

    def build(self, input_shape: TensorShape) -> None:
        units = self._num_units
        self._kernel = self.add_weight("kernel", [known_size(input_shape, -1, self.label) + units, units])
        self._bias = self.add_weight("bias", [units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        gates = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gates)
        return output, output

    def projected(self, inputs: Tensor) -> tuple[Tensor, Step]:
        features = known_size(inputs.shape, -1, self.label)
        of_state = self._kernel[features:]

        def step(row: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
            output = self._activation(row + matmul(state, of_state))
            return output, output

        return rows_times(inputs, self._kernel[:features], self._bias), step


class GRUCell(OfUnits, LayerRNNCell):
    """A gated recurrent unit: an update gate between the old state and a candidate, and a reset gate in the
    candidate.

    >>> import staticgraph as sg
    >>> output, state = sg.nn.rnn_cell.GRUCell(8)(sg.zeros([2, 3]), sg.zeros([2, 8]))
    >>> [v.name for v in sg.trainable_variables()][:2]
    ['gru_cell/gates/kernel:0', 'gru_cell/gates/bias:0']
    """

    _gate_names = ("gates/kernel", "gates/bias")
    _candidate_names = ("candidate/kernel", "candidate/bias")

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = activation_of(activation) or tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, input_shape: TensorShape) -> None:
        units, features = self._num_units, known_size(input_shape, -1, self.label)

        def made(names: tuple[str, str], width: int, start: float) -> list[Variable]:
            shape, bias = [features + units, width], Constant(start)
            return [
                self.add_weight(names[0], shape, initializer=self._kernel_initializer),
                self.add_weight(names[1], [width], initializer=self._bias_initializer or bias),
            ]

        self._gate_kernel, self._gate_bias = made(self._gate_names, 2 * units, 1.0)
        self._candidate_kernel, self._candidate_bias = made(self._candidate_names, units, 0.0)
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        gates = bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        r, u = split(sigmoid(gates), 2, 1)
        candidate = bias_add(
            matmul(concat([inputs, r * state], 1), self._candidate_kernel), self._candidate_bias
        )
        return self._mixed(u, state, candidate)

    def _mixed(self, u: Tensor, state: Tensor, candidate: Tensor) -> tuple[Tensor, Tensor]:
        output = u * state + (1 - u) * self._activation(candidate)
        return output, output

    def projected(self, inputs: Tensor) -> tuple[Tensor, Step]:
        features, units = known_size(inputs.shape, -1, self.label), self._num_units
        of_inputs = concat([self._gate_kernel[:features], self._candidate_kernel[:features]], 1)
        bias = concat([self._gate_bias, self._candidate_bias], 0)
        gates_of_state, candidate_of_state = self._gate_kernel[features:], self._candidate_kernel[features:]

        def step(row: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
            gates = sigmoid(row[:, : 2 * units] + matmul(state, gates_of_state))
            r, u = split(gates, 2, 1)
            return self._mixed(u, state, row[:, 2 * units :] + matmul(r * state, candidate_of_state))

        return rows_times(inputs, of_inputs, bias), step
