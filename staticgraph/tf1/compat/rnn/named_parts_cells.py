"""Cells of `tf.contrib.rnn` with few gates, whose activation and initializers may be names."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.nn.rnn_cell.base import LayerRNNCell
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import activations, initializers

__all__ = ["CFNCell", "MinimalRNNCell"]


class _OfNamedParts(LayerRNNCell):
    """The arguments that both cells share.

    Args:
        units: The size of the state.
        activation: A function or its name.
        kernel_initializer, bias_initializer: Initializers or their names.
        name, dtype: As for other cells.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "ones",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.units, self.activation = units, activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)

    @property
    def state_size(self) -> int:
        return self.units

    @property
    def output_size(self) -> int:
        return self.units

    def _kernel(self, name: str, rows: int, columns: int) -> Any:
        return self.add_weight(name, [rows, columns], initializer=self.kernel_initializer)

    def _bias(self, size: int) -> Any:
        return self.add_weight("bias", [size], initializer=self.bias_initializer)


class MinimalRNNCell(_OfNamedParts):
    """One gate between the state and the projected inputs (Chen et al. 2018)."""

    def build(self, input_shape: Any) -> None:
        self._features = known_size(input_shape, 1, self.label)
        self.kernel = self._kernel("kernel", self._features + 2 * self.units, self.units)
        self.bias = self._bias(self.units)
        self.built = True

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        of_inputs, of_gate = sg.split(self.kernel, [self._features, 2 * self.units], 0)
        candidate = self.activation(sg.matmul(inputs, of_inputs))
        gate = sg.nn.bias_add(sg.matmul(sg.concat([candidate, state], 1), of_gate), self.bias)
        kept = sg.sigmoid(gate)
        output = kept * state + (1 - kept) * candidate
        return output, output


class CFNCell(_OfNamedParts):
    """A network without chaos: gates of the activated state and of the projected inputs (Laurent and von
    Brecht 2017). The input gate is 1 less the sigmoid, as in TensorFlow.
    """

    def build(self, input_shape: Any) -> None:
        features = known_size(input_shape, 1, self.label)
        self.kernel = self._kernel("kernel", features, 3 * self.units)
        self.recurrent_kernel = self._kernel("recurrent_kernel", self.units, 2 * self.units)
        self.bias = self._bias(2 * self.units)
        self.built = True

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        of_gates, of_inputs = sg.split(self.kernel, [2 * self.units, self.units], 1)
        gates = sg.matmul(state, self.recurrent_kernel) + sg.matmul(inputs, of_gates)
        forget, shut = sg.split(sg.sigmoid(sg.nn.bias_add(gates, self.bias)), 2, 1)
        projected = sg.matmul(inputs, of_inputs)
        output = forget * self.activation(state) + (1 - shut) * self.activation(projected)
        return output, output
