"""Cells of `tf.contrib.rnn` whose units, or whose products, do without the whole matrix of the state."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.nn.rnn_cell import LSTMStateTuple
from staticgraph.nn.rnn_cell.base import LayerRNNCell, OfUnits
from staticgraph.nn.rnn_cell.lstm import OfMemory
from staticgraph.state.initializers import Ones, Zeros
from staticgraph.state.layer import known_size


class _Independent(OfUnits, LayerRNNCell):
    """A cell that multiplies the state of each unit by numbers of its own (Li et al. 2018)."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, activation or sg.tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def _gates(
        self, inputs: Any, number: int, kernel: str, state: str, bias: str, start: Any
    ) -> tuple[Any, ...]:
        """Return the variables of `number` gates for inputs of that shape, under these names."""
        width = number * self._num_units
        return (
            self.add_weight(
                kernel, [known_size(inputs, 1, self.label), width], initializer=self._kernel_initializer
            ),
            self.add_weight(
                state, [1, width], initializer=sg.random_uniform_initializer(-1, 1, dtype=self.dtype)
            ),
            self.add_weight(bias, [width], initializer=self._bias_initializer or start),
        )


def _gated(inputs: sg.Tensor, state: sg.Tensor, gates: tuple[Any, ...]) -> sg.Tensor:
    """Return what goes into gates: a product with the inputs, the scaled state, and biases."""
    kernel, scale, bias = gates
    return sg.nn.bias_add(sg.matmul(inputs, kernel) + state * scale, bias)


class IndRNNCell(_Independent):
    """`output = state = activation(inputs @ kernel_w + state * kernel_u + bias)`.

    Args:
        num_units: The number of units.
        activation: A function, tanh by default.
        reuse, name, dtype: As for other cells.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def build(self, input_shape: Any) -> None:
        self._weights_of = self._gates(input_shape, 1, "kernel_w", "kernel_u", "bias", Zeros)
        self.built = True

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        output = self._activation(_gated(inputs, state, self._weights_of))
        return output, output


class IndyGRUCell(_Independent):
    """A gated recurrent unit in which each unit sees its own state only (Gonnet and Deselaers 2019)."""

    def build(self, input_shape: Any) -> None:
        names = "gates/kernel_w", "gates/kernel_u", "gates/bias"
        self._gate_weights = self._gates(input_shape, 2, *names, Ones)
        names = "candidate/kernel", "candidate/kernel_u", "candidate/bias"
        self._candidate_weights = self._gates(input_shape, 1, *names, Zeros)
        self.built = True

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        r, u = sg.split(sg.sigmoid(_gated(inputs, sg.tile(state, [1, 2]), self._gate_weights)), 2, 1)
        candidate = self._activation(_gated(inputs, r * state, self._candidate_weights))
        output = u * state + (1 - u) * candidate
        return output, output


class IndyLSTMCell(OfMemory, _Independent):
    """A long short-term memory in which each unit sees its own output only (Gonnet and Deselaers 2019)."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)
        self._forget_bias = forget_bias

    def build(self, input_shape: Any) -> None:
        self._weights_of = self._gates(input_shape, 4, "kernel_w", "kernel_u", "bias", Zeros)
        self.built = True

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        c, h = state
        i, j, f, o = sg.split(_gated(inputs, sg.tile(h, [1, 4]), self._weights_of), 4, 1)
        c = c * sg.sigmoid(f + self._forget_bias) + sg.sigmoid(i) * self._activation(j)
        h = self._activation(c) * sg.sigmoid(o)
        return h, LSTMStateTuple(c, h)


class SRUCell(OfUnits, LayerRNNCell):
    """A simple recurrent unit, whose products are of the inputs alone (Lei and Zhang 2017)."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation or sg.tanh

    def build(self, input_shape: Any) -> None:
        features = known_size(input_shape, 1, self.label)
        self._kernel = self.add_weight("kernel", [features, 4 * self._num_units])
        self._bias = self.add_weight("bias", [2 * self._num_units], initializer=Zeros)
        self.built = True

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        candidate, of_f, of_r, carried = sg.split(sg.matmul(inputs, self._kernel), 4, 1)
        f, r = sg.split(sg.sigmoid(sg.nn.bias_add(sg.concat([of_f, of_r], 1), self._bias)), 2, 1)
        c = f * state + (1.0 - f) * candidate
        return r * self._activation(c) + (1.0 - r) * carried, c
