"""Cells of `tf.contrib.rnn`: variants of LSTM and GRU."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.nn.rnn_cell import GRUCell, LSTMCell, LSTMStateTuple
from staticgraph.nn.rnn_cell.base import LayerRNNCell, OfUnits
from staticgraph.nn.rnn_cell.lstm import OfMemory
from staticgraph.state.initializers import Zeros
from staticgraph.state.layer import known_size
from staticgraph.tf1.compat.rnn.recurrent_linear import linear, normalized

__all__ = [
    "CFNCell",
    "CoupledInputForgetGateLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LayerNormBasicLSTMCell",
    "LayerRNNCell",
    "MinimalRNNCell",
    "NASCell",
    "UGRNNCell",
]


class _Sized(OfUnits):
    """A cell of `num_units`, with an initializer and a bias of the forget gate."""

    def __init__(self, num_units: int, initializer: Any, forget_bias: Any, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer, self._forget_bias = num_units, initializer, forget_bias


class LSTMBlockCell(LSTMCell):
    """`LSTMCell` under another name. All cells are compiled as a whole here."""

    _peepholes = "ifo"

    def __init__(
        self,
        num_units: int,
        forget_bias: Any = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str | None = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units, use_peephole, cell_clip, forget_bias=forget_bias, reuse=reuse, name=name, dtype=dtype
        )

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, Any]:
        with counted_as(inputs.graph, 1 if self._use_peepholes else 2):  # zeros in place of peepholes
            return super().call(inputs, state)


class GRUBlockCell(GRUCell):
    """`GRUCell` with other names of variables. `cell_size` is an old name."""

    _gate_names = ("w_ru", "b_ru")
    _candidate_names = ("w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: str | None = "gru_cell",
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise misuse(ValueError, "give either num_units or, by its old name, cell_size")
        super().__init__(num_units or cell_size or 0, reuse=reuse, name=name)

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, Any]:
        with counted_as(inputs.graph, 1):
            return super().call(inputs, state)


class GRUBlockCellV2(GRUBlockCell):
    """`GRUBlockCell` with the names that `GRUCell` has."""

    _gate_names = GRUCell._gate_names
    _candidate_names = GRUCell._candidate_names


class LayerNormBasicLSTMCell(OfMemory, _Sized):
    """A long short-term memory with layer normalisation of the gates and of the memory, and dropout of the
    candidate. `input_size` is not used.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: Any = 1.0,
        input_size: Any = None,
        activation: Any = sg.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, None, forget_bias, reuse)
        self._activation = activation
        self._layer_norm, self._norm = layer_norm, (norm_gain, norm_shift)
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        c, h = state
        both = sg.concat([inputs, h], 1)
        kernel = sg.get_variable("kernel", [both.shape[-1], 4 * self._num_units], both.dtype)
        gates = sg.matmul(both, kernel)
        if not self._layer_norm:
            gates = sg.nn.bias_add(gates, sg.get_variable("bias", [4 * self._num_units], both.dtype))
        i, j, f, o = sg.split(gates, 4, 1)
        if self._layer_norm:
            named = ((i, "input"), (j, "transform"), (f, "forget"), (o, "output"))
            i, j, f, o = (normalized(gate, *self._norm, name) for gate, name in named)
        candidate = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            candidate = sg.nn.dropout(candidate, self._keep_prob, seed=self._seed)
        c = c * sg.sigmoid(f + self._forget_bias) + sg.sigmoid(i) * candidate
        if self._layer_norm:
            c = normalized(c, *self._norm, "state")
        h = self._activation(c) * sg.sigmoid(o)
        return h, LSTMStateTuple(c, h)


class CoupledInputForgetGateLSTMCell(OfMemory, _Sized):
    """A long short-term memory whose input gate is 1 minus the forget gate. Shards are not used."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: Any = 1.0,
        state_is_tuple: bool = True,
        activation: Any = sg.tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._use_peepholes, self._activation = use_peepholes, activation
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._state_is_tuple = state_is_tuple
        self._layer_norm, self._norm = layer_norm, (norm_gain, norm_shift)

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, Any]:
        units, dtype = self._num_units, inputs.dtype
        c, m = state if self._state_is_tuple else sg.split(state, [units, self.output_size], 1)
        both = sg.concat([inputs, m], 1)
        gates = sg.matmul(both, sg.get_variable("W_0", [both.shape[-1], 3 * units], dtype))
        bias = sg.get_variable("B", [3 * units], dtype, sg.zeros_initializer())
        j, f, o = sg.split(gates if self._layer_norm else sg.nn.bias_add(gates, bias), 3, 1)
        if self._layer_norm:
            named = ((j, "transform"), (f, "forget"), (o, "output"))
            j, f, o = (normalized(gate, *self._norm, name) for gate, name in named)
        if self._use_peepholes:
            of_f, of_o = (sg.get_variable(f"W_{gate}_diag", [units], dtype) for gate in "FO")
            f = f + of_f * c
        forget = sg.sigmoid(f + self._forget_bias)
        c = forget * c + (1 - forget) * self._activation(j)
        if self._layer_norm:
            c = normalized(c, *self._norm, "state")
        m = sg.sigmoid(o + of_o * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj is not None:
            m = sg.matmul(m, sg.get_variable("W_P_0", [units, self._num_proj], dtype))
            if self._proj_clip is not None:
                m = sg.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else sg.concat([c, m], 1)


class UGRNNCell(_Sized):
    """An update gate between the old state and a new one."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: Any = 1.0,
        activation: Any = sg.tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._activation = activation

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        made = linear([inputs, state], 2 * self._num_units, initializer=self._initializer)
        gate, new = sg.split(made, 2, 1)
        gate = sg.sigmoid(gate + self._forget_bias)
        state = gate * state + (1.0 - gate) * self._activation(new)
        return state, state


class IntersectionRNNCell(_Sized):
    """Coupled gates in time, between old and new state, and in depth, between inputs and new output.

    Inputs have `num_units` features, or `num_in_proj` says that they are projected to that many. ValueError
    otherwise.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: Any = 1.0,
        y_activation: Any = sg.nn.relu,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._num_in_proj, self._y_activation = num_in_proj, y_activation

    def call(self, inputs: sg.Tensor, state: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        units = self._num_units
        if known_size(inputs.shape, 1, self.label) != units:
            if not self._num_in_proj:
                text = f"{self.label}: the inputs {inputs.shape} must have {units} features"
                raise misuse(ValueError, text, f"or give num_in_proj={units}")
            with sg.variable_scope("in_projection"):
                inputs = linear([inputs], units, initializer=self._initializer)
        count_more(inputs.graph, 2)
        made = linear([inputs, state], 4 * units, initializer=self._initializer)
        count_more(inputs.graph, 11)  # TensorFlow takes slices, and names the gates
        in_time, new, in_depth, output = sg.split(made, 4, 1)
        in_time, in_depth = (sg.sigmoid(gate + self._forget_bias) for gate in (in_time, in_depth))
        state = in_time * state + (1.0 - in_time) * sg.tanh(new)
        return in_depth * inputs + (1.0 - in_depth) * self._y_activation(output), state


class NASCell(OfMemory, LayerRNNCell):
    """A cell that was found by search: eight sums and products of inputs and output, combined in a tree."""

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    def build(self, input_shape: sg.TensorShape) -> None:
        width = 8 * self._num_units
        self.recurrent_kernel = self.add_weight("recurrent_kernel", [self.output_size, width])
        self.kernel = self.add_weight("kernel", [known_size(input_shape, 1, self.label), width])
        if self._use_bias:
            self.bias = self.add_weight("bias", [width], initializer=Zeros)
        if self._num_proj is not None:
            self.projection_weights = self.add_weight("projection_weights", [self._num_units, self._num_proj])
        self.built = True

    def call(self, inputs: sg.Tensor, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        c, m = state
        of_state = sg.matmul(m, self.recurrent_kernel)
        if self._use_bias:
            of_state = sg.nn.bias_add(of_state, self.bias)
        of_inputs = sg.matmul(inputs, self.kernel)
        pairs = list(zip(sg.split(of_inputs, 8, 1), sg.split(of_state, 8, 1), strict=True))
        sums = [x * h if n == 3 else x + h for n, (x, h) in enumerate(pairs)]
        sigmoid, relu, tanh = sg.sigmoid, sg.nn.relu, sg.tanh
        first = tanh(tanh(sigmoid(sums[0]) * relu(sums[1])) + c)
        second = tanh(sigmoid(sums[2]) + relu(sums[3]))
        third = tanh(tanh(sums[4]) * sigmoid(sums[5]))
        fourth = sigmoid(tanh(sums[6]) + sigmoid(sums[7]))
        c = first * second
        m = tanh(c * tanh(third + fourth))
        if self._num_proj is not None:
            m = sg.matmul(m, self.projection_weights)
        return m, LSTMStateTuple(c, m)


class _OfNamedParts(LayerRNNCell):
    """The base of cells with few gates, whose activation and initializers may be names.

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
        from staticgraph.tf1.keras import activations, initializers  # few programs have these cells

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
