"""Cells of `tf.contrib.rnn`: long short-term memories whose gates, or whose kernels, are normalized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.nn.rnn_cell import LSTMStateTuple
from staticgraph.nn.rnn_cell.lstm import OfGates
from staticgraph.state.layer import known_size
from staticgraph.tf1.compat.rnn.recurrent_linear import bias_of, kernel_of, normalized, product

__all__ = ["LayerNormLSTMCell", "WeightNormLSTMCell"]


class _Normalized(OfGates):
    """The step that both cells share; a subclass says what is normalized."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool,
        cell_clip: float | None,
        initializer: Any,
        num_proj: int | None,
        proj_clip: float | None,
        forget_bias: Any,
        activation: Any,
        reuse: Any,
        name: str | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        self._num_units, self._num_proj = num_units, num_proj
        self._use_peepholes, self._initializer = use_peepholes, initializer
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._forget_bias, self._activation = forget_bias, activation or sg.tanh

    def _gates(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return what goes into the input gate, the candidate, the forget gate and the output gate."""
        raise NotImplementedError

    def _projection(self, h: Any) -> Any:
        with sg.variable_scope("projection"):
            return self._projected(h)

    def _projected(self, h: Any) -> Any:
        """Return the output times the kernel of the open scope."""
        return product([h], kernel_of([h], self._num_proj))

    def _step(self, inputs: Any, state: Any) -> tuple[Any, LSTMStateTuple]:
        c, h = state
        gates, peepholes = self._gates([inputs, h]), {}
        if self._use_peepholes:
            peepholes = {g: sg.get_variable(f"w_{g}_diag", [self._num_units], inputs.dtype) for g in "fio"}
        h, c = self._advanced(gates, c, peepholes)
        return h, LSTMStateTuple(c, h)


class LayerNormLSTMCell(_Normalized):
    """A long short-term memory with layer normalization of the gates and of the memory (Ba et al. 2016).

    The bias is a variable that the normalized gates do not use, as in TensorFlow.

    Args:
        num_units: The size of the memory.
        use_peepholes: If True, the gates see the memory.
        cell_clip: The memory stays between minus this number and it; None for no bound.
        initializer: Of the kernels.
        num_proj: The size that the output is projected to; None for no projection.
        proj_clip: The projected output stays between minus this number and it; None for no bound.
        forget_bias: Added to the forget gate.
        activation: A function, tanh by default.
        layer_norm: If True, gates and memory are normalized.
        norm_gain, norm_shift: What the scales and the shifts of the normalization begin as.
        reuse: As for other cells.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias,
            activation,
            reuse,
        )
        self._layer_norm, self._norm = layer_norm, (norm_gain, norm_shift)

    def _gates(self, args: Sequence[Any]) -> Sequence[Any]:
        width = 4 * self._num_units
        gates = product(args, kernel_of(args, width))
        bias = bias_of(args, width)
        if not self._layer_norm:
            return sg.split(sg.nn.bias_add(gates, bias), 4, 1)
        names = "input", "transform", "forget", "output"
        parts = zip(sg.split(gates, 4, 1), names, strict=True)
        return [normalized(gate, *self._norm, name) for gate, name in parts]

    def _memory(self, c: Any) -> Any:
        return normalized(c, *self._norm, "state") if self._layer_norm else c

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        known_size(inputs.shape, 1, self.label)
        with sg.variable_scope(sg.get_variable_scope(), initializer=self._initializer):
            return self._step(inputs, state)


class WeightNormLSTMCell(_Normalized):
    """A long short-term memory whose kernels have columns of a learned length (Salimans and Kingma 2016).

    Args:
        num_units: The size of the memory.
        norm: If True, the columns are normalized: those of the inputs and those of the state apart.
        use_peepholes: If True, the gates see the memory.
        cell_clip: The memory stays between minus this number and it; None for no bound.
        initializer: Of all variables but the bias.
        num_proj: The size that the output is projected to; None for no projection.
        proj_clip: The projected output stays between minus this number and it; None for no bound.
        forget_bias: Added to the forget gate.
        activation: A function, tanh by default.
        reuse: As for other cells.
    """

    _SCOPE = "wn_lstm_cell"  # that of the cell, and of its variables once more inside

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Any = None,
        reuse: Any = None,
    ) -> None:
        options = (initializer, num_proj, proj_clip, forget_bias, activation, reuse)
        super().__init__(num_units, use_peepholes, cell_clip, *options, name=self._SCOPE)
        self._norm = norm

    def _product(self, args: Sequence[Any], width: int) -> Any:
        """Return the product with a kernel, whose columns have the lengths `norm_0`, `norm_1` and so on."""
        kernel = kernel_of(args, width)
        if not self._norm:
            return product(args, kernel)
        parts, start = [], 0
        for number, each in enumerate(args):
            end = start + int(each.shape[1])
            rows = kernel[start:end, :]
            length = sg.get_variable(f"norm_{number}", [width], kernel.dtype)
            parts.append(sg.nn.l2_normalize(rows, axis=0) * length)
            start = end
        return product(args, sg.concat(parts, 0))

    def _gates(self, args: Sequence[Any]) -> Sequence[Any]:
        width = 4 * self._num_units
        return sg.split(sg.nn.bias_add(self._product(args, width), bias_of(args, width)), 4, 1)

    def _projected(self, h: Any) -> Any:
        assert self._num_proj is not None
        return self._product([h], self._num_proj)

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        known_size(inputs.shape, 1, self.label)
        with sg.variable_scope(self._SCOPE, initializer=self._initializer):
            return self._step(inputs, state)
