"""`tf.contrib.rnn.GLSTMCell`: a long short-term memory in groups of units."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.nn.rnn_cell import LSTMStateTuple
from staticgraph.nn.rnn_cell.base import RNNCell
from staticgraph.state.layer import known_size
from staticgraph.tf1.compat.rnn.recurrent_linear import linear

__all__ = ["GLSTMCell"]


class GLSTMCell(RNNCell):
    """A long short-term memory in groups of units (Kuchaiev and Ginsburg 2017).

    Each group sees its part of the inputs and of the last output.

    Args:
        num_units: The number of units.
        initializer: The initializer of all variables but the biases.
        num_proj: The number of outputs, if they are projected.
        number_of_groups: The number of groups: it divides `num_units`, `num_proj` and the number of inputs.
        forget_bias: What is added to the forget gate.
        activation: The activation of the memory.
        reuse: If the cell uses variables that are there.

    Raises:
        ValueError: If a number cannot be divided into so many groups.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Any = sg.tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj = num_units, num_proj
        self._initializer, self._activation, self._forget_bias = initializer, activation, forget_bias
        self._groups = number_of_groups
        for name, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            self._divided(name, size)

    def _divided(self, name: str, size: int) -> int:
        """Return the size of a group. ValueError if it is not a whole number."""
        if size % self._groups:
            text = f"GLSTMCell: {name} ({size}) must be divisible by number_of_groups ({self._groups})"
            raise misuse(ValueError, text)
        return size // self._groups

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        before, h = state
        features = self._divided("input size", known_size(inputs.shape, -1, "GLSTMCell"))
        outputs, units = self.output_size // self._groups, self._num_units // self._groups
        rows = inputs.shape[0].value or sg.shape(inputs)[0]
        parts = []
        with sg.variable_scope(sg.get_variable_scope(), initializer=self._initializer):
            for group in range(self._groups):
                with sg.variable_scope(f"group{group}"):
                    name = f"GLSTM_group{group}_input_generation"
                    seen = [
                        sg.slice(x, [0, group * size], [rows, size], name=name)
                        for x, size in ((inputs, features), (h, outputs))
                    ]
                    made = linear([sg.concat(seen, 1)], 4 * units, bias=False)
                    parts.append(sg.split(made, 4, 1))
            zeros = sg.constant_initializer(0.0, dtype=inputs.dtype)
            biases = [
                sg.get_variable(f"bias_{gate}", [self._num_units], inputs.dtype, zeros) for gate in "ijfo"
            ]
            i, j, f, o = (
                sg.nn.bias_add(sg.concat(gate, 1), bias)
                for gate, bias in zip([list(gate) for gate in zip(*parts, strict=True)], biases, strict=True)
            )
        c = sg.sigmoid(f + self._forget_bias) * before + sg.sigmoid(i) * sg.tanh(j)
        h = sg.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with sg.variable_scope("projection"):
                h = linear([h], self._num_proj, bias=False)
        return h, LSTMStateTuple(c, h)
