"""`tf.contrib.cudnn_rnn`: stacks of recurrent layers over whole sequences, in one or both directions.

TensorFlow keeps all weights of such a layer in one buffer whose layout is cuDNN's own, and writes them to
checkpoints under the names that `dynamic_rnn` over a `MultiRNNCell` of `CudnnCompatible...Cell`s gives. Here
these are the variables themselves: checkpoints have the same names and arrays on all devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.nn.rnn_cell import BasicRNNCell
from staticgraph.tf1.compat.rnn.cudnn_cells import CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell

_DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}
_LINEAR, _SKIP, _AUTO = "linear_input", "skip_input", "auto_select"


class _CudnnRNN:
    """Recurrent layers, each over the outputs of the one before."""

    _rnn_mode = ""
    _gates = 1

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = _LINEAR,
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = sg.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        """Take the sizes of the layers. The first call makes the variables.

        Args:
            num_layers: How many layers there are.
            num_units: The size of a state.
            input_mode: "linear_input"; "skip_input", which takes inputs without weights, is not here.
            direction: "unidirectional" or "bidirectional"; the outputs of both directions stand side by side.
            dropout: The share of the outputs of each layer but the last that is dropped in training.
            seed: The seed of dropout and of the default initializer.
            dtype: float16, float32 or float64.
            kernel_initializer: For the weights of a gate, [num_units, inputs]; Glorot's by default.
            bias_initializer: For each of two biases of a gate, whose sum is kept; zeros by default.
            name: The name of the layer, by default for example "cudnn_lstm".

        Raises:
            ValueError: There is no such direction, mode or type.
        """
        kind = type(self).__name__
        if direction not in _DIRECTIONS:
            raise misuse(ValueError, f"{kind}: direction is {direction!r}", f"use one of {list(_DIRECTIONS)}")
        if input_mode not in (_LINEAR, _AUTO):
            hint = None if input_mode == _SKIP else f"use {_LINEAR!r}"
            raise misuse(ValueError, f"{kind}: input_mode={input_mode!r} is not supported", hint)
        if dtype not in (sg.float16, sg.float32, sg.float64):
            raise misuse(ValueError, f"{kind}: dtype is float16, float32 or float64, not {dtype}")
        self.num_layers, self.num_units = num_layers, num_units
        self.input_mode, self.direction, self.dtype = input_mode, direction, dtype
        self.built = False
        self.variables: list[Any] = []
        self._dropout, self._seed, self._name = dropout, seed, name
        self._kernel_initializer = kernel_initializer or sg.glorot_uniform_initializer(seed=seed, dtype=dtype)
        self._bias_initializer = bias_initializer or sg.zeros_initializer(dtype=dtype)
        self._scope: Any = None
        self._input_size: int | None = None

    @property
    def rnn_mode(self) -> str:
        """The kind of the cells, for example "lstm"."""
        return self._rnn_mode

    @property
    def num_dirs(self) -> int:
        """1 or 2."""
        return _DIRECTIONS[self.direction]

    @property
    def input_size(self) -> int:
        """The size of an input. ValueError before the layer is built."""
        if self._input_size is None:
            raise misuse(
                ValueError, f"{type(self).__name__}: input_size is not known before the layer is built"
            )
        return self._input_size

    @property
    def trainable_variables(self) -> list[Any]:
        """The weights and biases, which the first call makes."""
        return self.variables

    weights = trainable_weights = trainable_variables

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of the weights of gates, as cuDNN counts them."""
        shapes = []
        for layer in range(self.num_layers):
            inputs = self.num_units * self.num_dirs if layer else self.input_size
            of_inputs, of_states = (self.num_units, inputs), (self.num_units, self.num_units)
            shapes += ([of_inputs] * self._gates + [of_states] * self._gates) * self.num_dirs
        return shapes

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of the biases of gates, as cuDNN counts them."""
        return [[self.num_units]] * (self.num_layers * self.num_dirs * 2 * self._gates)

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the tensors of a state."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],)

    def build(self, input_shape: Any) -> None:
        """Take the size of inputs [time, batch, size]. The first call makes the variables."""
        shape = sg.TensorShape(input_shape)
        if shape.ndims != 3 or shape[-1].value is None:
            text = f"{type(self).__name__}: inputs have 3 axes, the last of known size, not {shape}"
            raise misuse(ValueError, text)
        self._input_size = shape[-1].value
        self.built = True

    def __call__(
        self,
        inputs: Any,
        initial_state: tuple[Any, ...] | None = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: Any = True,
    ) -> tuple[sg.Tensor, tuple[sg.Tensor, ...]]:
        """Run over sequences.

        Args:
            inputs: [time, batch, size], or [batch, time, size] if `time_major` is False.
            initial_state: A tuple of the state's tensors, [num_layers * num_dirs, batch, num_units] each, or
                [batch, num_layers * num_dirs, num_units] if `time_major` is False; zeros by default.
            sequence_lengths: The length of each sequence, [batch]; outputs beyond it are zero.
            time_major: The order of axes.
            training: Whether there is dropout.

        Returns:
            The outputs [time, batch, num_units * num_dirs], in the order of the inputs, and the last state.

        Raises:
            TypeError: The state is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise misuse(TypeError, f"{type(self).__name__}: initial_state is a tuple, not {initial_state!r}")
        inputs = sg.convert_to_tensor(inputs, dtype=self.dtype)
        if not self.built:
            self.build(inputs.shape)
        x = inputs if time_major else sg.transpose(inputs, [1, 0, 2])
        opened = self._scope or sg.variable_scope(self._name, _snake_case(type(self).__name__))
        with opened if self._scope is None else sg.variable_scope(self._scope, reuse=True) as scope:
            is_first, self._scope = self._scope is None, scope
            with sg.variable_scope(scope, custom_getter=self._getter if is_first else None):
                x, states = self._layers(
                    x, self._starts(initial_state, time_major), sequence_lengths, training
                )
        axis = 0 if time_major else 1
        last = tuple(sg.stack(each, axis) for each in zip(*states, strict=True))
        return (x if time_major else sg.transpose(x, [1, 0, 2])), last

    apply = __call__

    def _starts(self, initial_state: tuple[Any, ...] | None, time_major: bool) -> list[Any]:
        """The state in which each layer and direction begins; None for zeros."""
        if initial_state is None:
            return [None] * (self.num_layers * self.num_dirs)
        axis = 0 if time_major else 1
        parts = [sg.unstack(each, self.num_layers * self.num_dirs, axis) for each in initial_state]
        return [self._cell_state(each) for each in zip(*parts, strict=True)]

    def _layers(self, x: Any, starts: list[Any], lengths: Any, training: Any) -> tuple[Any, list[Any]]:
        states: list[Any] = []
        options = {"sequence_length": lengths, "dtype": self.dtype, "time_major": True}
        for layer in range(self.num_layers):
            if layer and self._dropout:
                x = sg.layers.dropout(x, self._dropout, seed=self._seed, training=training)
            begin = starts[layer * self.num_dirs : (layer + 1) * self.num_dirs]
            if self.num_dirs == 1:
                place = f"rnn/multi_rnn_cell/cell_{layer}"
                x, state = sg.nn.dynamic_rnn(self._cell(), x, initial_state=begin[0], scope=place, **options)
                states.append(self._state_parts(state))
                continue
            x, both = sg.nn.bidirectional_dynamic_rnn(
                self._cell(),
                self._cell(),
                x,
                initial_state_fw=begin[0],
                initial_state_bw=begin[1],
                scope=f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn",
                **options,
            )
            x = sg.concat(x, 2)
            states += [self._state_parts(state) for state in both]
        return x, states

    def _getter(self, getter: Callable[..., Any], name: str, shape: Any, *args: Any, **options: Any) -> Any:
        """Make a variable whose initial value is made of those of the gates."""
        options["initializer"] = self._weights(name) if name.endswith("kernel") else self._biases(name)
        variable = getter(name, shape, *args, **options)
        if not any(variable is other for other in self.variables):
            self.variables.append(variable)
        return variable

    def _weights(self, name: str) -> Callable[..., Any]:
        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            rows, columns = (int(n) for n in shape)
            parts = [rows] if "projection" in name else [rows - self.num_units, self.num_units]
            gates = [
                sg.concat(
                    [sg.transpose(self._kernel_initializer([self.num_units, n], dtype=dtype)) for n in parts],
                    0,
                )
                for _ in range(columns // self.num_units)
            ]
            return sg.concat(gates, 1)

        return initial

    def _biases(self, name: str) -> Callable[..., Any]:
        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            gates = int(shape[0]) // self.num_units
            of_both = 1 if "projection" in name else 2
            made = [self._bias_initializer([self.num_units], dtype=dtype) for _ in range(gates * of_both)]
            first = sg.concat(made[:gates], 0)
            return first if of_both == 1 else first + sg.concat(made[gates:], 0)

        return initial

    def _cell(self) -> Any:
        raise NotImplementedError

    def _cell_state(self, parts: Sequence[Any]) -> Any:
        """The state of a cell, of the tensors of the layer's state."""
        return parts[0]

    def _state_parts(self, state: Any) -> tuple[Any, ...]:
        """The tensors of the layer's state, of the state of a cell."""
        return (state,)


def _snake_case(name: str) -> str:
    """The default name of a layer: "cudnn_lstm" for CudnnLSTM."""
    return "cudnn_" + name.removeprefix("Cudnn").replace("RNN", "RNN_").rstrip("_").lower()


class CudnnLSTM(_CudnnRNN):
    """LSTM layers without a bias of the forget gate; the state is (h, c)."""

    _rnn_mode = "lstm"
    _gates = 4

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the tensors of a state."""
        return super().state_shape(batch_size) * 2

    def _cell(self) -> Any:
        return CudnnCompatibleLSTMCell(self.num_units)

    def _cell_state(self, parts: Sequence[Any]) -> Any:
        h, c = parts
        return sg.nn.rnn_cell.LSTMStateTuple(c, h)

    def _state_parts(self, state: Any) -> tuple[Any, ...]:
        return state.h, state.c


class CudnnGRU(_CudnnRNN):
    """GRU layers that reset after the product with the state; the state is (h,)."""

    _rnn_mode = "gru"
    _gates = 3

    def _cell(self) -> Any:
        return CudnnCompatibleGRUCell(self.num_units)


class CudnnRNNTanh(_CudnnRNN):
    """Layers of `tanh(W x + R h + b)`; the state is (h,)."""

    _rnn_mode = "rnn_tanh"

    def _cell(self) -> Any:
        return BasicRNNCell(self.num_units)


class CudnnRNNRelu(_CudnnRNN):
    """Layers of `relu(W x + R h + b)`; the state is (h,)."""

    _rnn_mode = "rnn_relu"

    def _cell(self) -> Any:
        return BasicRNNCell(self.num_units, activation=sg.nn.relu)
